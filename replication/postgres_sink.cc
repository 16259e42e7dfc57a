#include "replication/postgres_sink.h"

#include "protocol/check.h"
#include "protocol/outside_text.h"
#include "replication/claim_plan.h"
#include "replication/limits.h"
#include "replication/postgres_audit.h"
#include "replication/postgres_check.h"
#include "replication/postgres_migrate.h"
#include "replication/postgres_start.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/uuid/random_generator.hpp>
#include <boost/uuid/uuid_io.hpp>

namespace holdfast {
namespace {

class PostgresSink final : public EventSink {
 public:
  explicit PostgresSink(PostgresSinkSettings settings)
      : settings_(std::move(settings)), owner_(boost::uuids::to_string(boost::uuids::random_generator()())) {}

  Result<SinkState> open() override;
  Result<void> apply(const LogId& log, const EventBatch& batch) override;
  Result<std::vector<ParkNotice>> untold(std::size_t notices_max) override;
  Result<void> told(const std::vector<ParkNotice>& notices) override;
  void interrupt() override { interrupt_.raise(); }
  Result<void> tend(Millis now) override;
  SinkFigures figures() const override { return figures_; }
  std::vector<std::string> take_alarms() override { return std::exchange(alarms_, {}); }
  Result<StartReport> bootstrap(StartState& state, bool set_aside) override;
  Result<Cursor> adopt(const LogRange& range) override;

 private:
  Result<void> connect();
  Result<SinkState> do_open();
  Result<Cursor> take_over();
  Result<CursorRow> make_cursor();
  Result<StartReport> do_bootstrap(StartState& state, bool set_aside);
  Result<Cursor> do_adopt(const LogRange& range);
  Result<void> do_apply(const LogId& log, const EventBatch& batch);
  Result<CursorRow> lock_own_cursor();
  void raise_alarms(const PostgresBatch& writer);
  Result<void> forget_old(WallTime now);
  Result<void> look_at_parked();
  Result<void> claim_places(Millis now);
  Error superseded(const CursorRow& row) const;
  Error changed_by_hand(const CursorRow& row) const;
  Error of_another(const std::string& sink) const;
  /// After an error the session is of no use any more.
  template <class T>
  Result<T> or_disconnect(Result<T> result) {
    if (!result) {
      tables_.reset();
      connection_.reset();
    }
    return result;
  }

  PostgresSinkSettings settings_;
  std::string owner_;  // of this process
  SocketInterrupt interrupt_;
  std::unique_ptr<PostgresConnection> connection_;
  std::optional<PostgresTables> tables_;
  KnownItems known_;
  SinkFigures figures_;
  ClaimPlan claims_;
  std::set<ItemNumber> alarmed_;  // items of which something is parked, and somebody was told
  std::vector<std::string> alarms_;
  Cursor cursor_;  // epoch none: never taken over
  bool may_forget_ = false;
  WallTime forgot_at_{};  // when all that is old was gone, by the log's time
};

Error PostgresSink::superseded(const CursorRow& row) const {
  return Error::format(ErrorCode::superseded,
                       "another relay has taken over the sink {} under epoch {}; this one had {}", settings_.name,
                       row.cursor.epoch.value(), cursor_.epoch.value());
}

Error PostgresSink::changed_by_hand(const CursorRow& row) const {
  return Error::format(
      ErrorCode::damaged,
      "the row of sink {} in holdfast_cursor says LSN {}, which no relay wrote there: somebody changed "
      "the cursor; holdfastctl reconcile says where the tables are, and --apply sets it right",
      settings_.name, row.cursor.lsn.value());
}

Error PostgresSink::of_another(const std::string& sink) const {
  return Error::format(
      ErrorCode::foreign,
      "the tables are those of sink {0}, and one sink has them: call this one postgres:{0}=URL, or give "
      "{1} a database or schema of its own",
      sink, settings_.name);
}

/// A transaction in a new session, on tables that are as they must be.
Result<void> PostgresSink::connect() {
  tables_.reset();
  connection_.reset();
  auto connection = PostgresConnection::connect(settings_.url, &interrupt_);
  if (!connection) return connection.error();
  connection_ = std::move(*connection);
  HOLDFAST_TRY(connection_->begin());
  const auto ids = check_schema(*connection_);
  if (!ids) return ids.error();
  HOLDFAST_TRY(check_columns(*connection_, *ids, settings_.existing_items));
  tables_.emplace(*connection_, *ids, settings_.name);
  return {};
}

Result<SinkState> PostgresSink::open() {
  HOLDFAST_TRY(or_disconnect(connect()));
  return or_disconnect(do_open());
}

Result<SinkState> PostgresSink::do_open() {
  const auto cursor = take_over();
  if (!cursor) return cursor.error();
  auto items = tables_->live_items();
  if (!items) return items.error();
  const auto may_forget = may_forget_parked(*connection_);
  if (!may_forget) return may_forget.error();
  known_ = KnownItems();
  SinkState state{*cursor, {}};
  for (KnownItem& item : *items) {
    state.items.put(item.facts);
    known_.put(std::move(item));
  }
  HOLDFAST_TRY(connection_->commit());
  may_forget_ = *may_forget;
  cursor_ = *cursor;
  return state;
}

/// The cursor's row, made if the tables are nobody's yet, and locked.
Result<CursorRow> PostgresSink::make_cursor() {
  HOLDFAST_TRY(tables_->make_cursor(owner_));
  auto row = tables_->lock_cursor();
  if (!row || row->there) return row;
  const auto sink = tables_->sink_of_tables();
  if (!sink) return sink.error();
  return of_another(*sink);
}

Result<Cursor> PostgresSink::take_over() {
  auto row = tables_->lock_cursor();
  if (!row) return row.error();
  if (!row->there) {
    row = make_cursor();
    if (!row) return row.error();
    const auto used = tables_->knows_any_item();
    if (!used) return used.error();
    if (*used || cursor_.epoch > Epoch()) {
      return Error::format(ErrorCode::damaged,
                           "the row of sink {} in holdfast_cursor is gone, and the tables are not empty",
                           settings_.name);
    }
  }
  if (!row->marked) return changed_by_hand(*row);
  // Another's lower epoch is that of a database which was restored to a time before this relay.
  if (cursor_.epoch > Epoch() && row->owner != owner_ && row->cursor.epoch > cursor_.epoch) return superseded(*row);
  Cursor cursor = row->cursor;
  cursor.epoch = std::max(cursor.epoch, cursor_.epoch).next();
  HOLDFAST_TRY(tables_->take_over(cursor.epoch, owner_));
  return cursor;
}

/// The cursor's row, which must be as this process left it.
Result<CursorRow> PostgresSink::lock_own_cursor() {
  auto row = tables_->lock_cursor();
  if (!row) return row.error();
  if (row->there && row->cursor.epoch != cursor_.epoch) return superseded(*row);
  if (row->there && row->cursor == cursor_) return row;
  return Error::format(
      ErrorCode::damaged,
      "the row of sink {} in holdfast_cursor says LSN {}, and this relay had written {}: somebody changed it",
      settings_.name, row->cursor.lsn.value(), cursor_.lsn.value());
}

Result<void> PostgresSink::apply(const LogId& log, const EventBatch& batch) {
  CHECK(connection_ != nullptr && tables_);
  CHECK(!is_log(cursor_.log) || cursor_.log == log);
  CHECK(batch.through >= cursor_.lsn);
  return or_disconnect(do_apply(log, batch));
}

Result<void> PostgresSink::do_apply(const LogId& log, const EventBatch& batch) {
  HOLDFAST_TRY(connection_->begin());
  const auto row = lock_own_cursor();
  if (!row) return row.error();
  PostgresBatch writer(*connection_, *tables_, known_, row->parking, settings_.existing_items);
  HOLDFAST_TRY(writer.apply(batch.events));
  const auto moved = tables_->move_cursor(cursor_, log, batch.through);
  if (!moved) return moved.error();
  CHECK(*moved);  // its row is locked since it was compared
  if (!batch.events.empty()) HOLDFAST_TRY(forget_old(batch.events.back().at));
  HOLDFAST_TRY(connection_->commit());
  cursor_.log = log;
  cursor_.lsn = batch.through;
  figures_.parked += writer.figures().parked;
  figures_.resolved += writer.figures().resolved;
  figures_.singly += writer.figures().singly;
  raise_alarms(writer);
  return {};
}

/// So that what is settled does not pile up for ever.
Result<void> PostgresSink::forget_old(WallTime now) {
  if (!may_forget_ || now < forgot_at_ + kForgetEvery) return {};
  const auto gone = forget_parked(*connection_, now - kParkedKept, kForgetAtOnce);
  if (!gone) return gone.error();
  if (*gone < kForgetAtOnce) forgot_at_ = now;
  return {};
}

/// One an item, until nothing of it is parked any more.
void PostgresSink::raise_alarms(const PostgresBatch& writer) {
  for (const auto& [number, text] : writer.alarms()) {
    if (alarmed_.insert(number).second) alarms_.push_back(text);
  }
  figures_.parked_items = alarmed_.size();
}

/// What this process has not told of was parked before it, or by a transaction of which it did not hear the end.
Result<void> PostgresSink::look_at_parked() {
  auto items = parked_items(*connection_);
  if (!items) return items.error();
  const auto is_new = [this](ItemNumber number) { return !alarmed_.contains(number); };
  const auto found = std::count_if(items->begin(), items->end(), is_new);
  if (found > 0) alarms_.push_back(fmt::format("of {} items something is parked", found));
  alarmed_ = std::move(*items);
  figures_.parked_items = alarmed_.size();
  return {};
}

Result<void> PostgresSink::tend(Millis now) {
  CHECK(connection_ != nullptr);
  HOLDFAST_TRY(or_disconnect(connection_->begin()));
  const auto row = or_disconnect(lock_own_cursor());
  if (!row) return row.error();
  HOLDFAST_TRY(or_disconnect(look_at_parked()));
  HOLDFAST_TRY(or_disconnect(claim_places(now)));
  return or_disconnect(connection_->commit());
}

/// Rows of items that something kept out, and does not any more. What is parked of them stays so for a person.
Result<void> PostgresSink::claim_places(Millis now) {
  const auto waiting = claims_.due(known_.without_place(), now);
  if (waiting.empty()) return {};
  const auto free = tables_->free_places(waiting, settings_.existing_items);
  if (!free) return free.error();
  PostgresBatch writer(*connection_, *tables_, known_, false, settings_.existing_items);
  std::size_t failures = 0;
  for (const auto& [number, at] : *free) {
    const auto claimed = writer.claim(number, at);
    if (!claimed) return claimed.error();
    if (!*claimed) {
      claims_.failed(number, now);
      if (++failures == kClaimFailuresMax) break;
      continue;
    }
    claims_.succeeded();
    const ItemFacts& item = *known_.at(number).facts;
    const AuditNote note{"claim item", outside_text(item.name), item.version.value(), "", "", "", "it was kept out"};
    HOLDFAST_TRY(note_audit(*connection_, std::span(&note, 1)));
  }
  return {};
}

Result<std::vector<ParkNotice>> PostgresSink::untold(std::size_t notices_max) {
  CHECK(connection_ != nullptr);
  HOLDFAST_TRY(or_disconnect(connection_->begin()));
  // Who has nothing to write learns here that the sink is another's now.
  const auto row = or_disconnect(lock_own_cursor());
  if (!row) return row.error();
  auto notices = or_disconnect(untold_notices(*connection_, notices_max));
  if (!notices) return notices;
  HOLDFAST_TRY(or_disconnect(connection_->commit()));
  return notices;
}

Result<void> PostgresSink::told(const std::vector<ParkNotice>& notices) {
  CHECK(connection_ != nullptr);
  HOLDFAST_TRY(or_disconnect(connection_->begin()));
  const auto row = or_disconnect(lock_own_cursor());
  if (!row) return row.error();
  HOLDFAST_TRY(or_disconnect(note_told(*connection_, notices)));
  return or_disconnect(connection_->commit());
}

Result<StartReport> PostgresSink::bootstrap(StartState& state, bool set_aside) {
  HOLDFAST_TRY(or_disconnect(connect()));
  return or_disconnect(do_bootstrap(state, set_aside));
}

Result<StartReport> PostgresSink::do_bootstrap(StartState& state, bool set_aside) {
  const auto row = make_cursor();
  if (!row) return row.error();
  const auto used = tables_->knows_any_item();
  if (!used) return used.error();
  StartReport report;
  report.cursor = {state.log(), state.lsn(), std::max(row->cursor.epoch, cursor_.epoch).next()};
  PutAside aside;
  if (*used || is_log(row->cursor.log)) {
    if (!set_aside) {
      return Error::format(ErrorCode::bad_option,
                           "the tables have what happened up to LSN {} of log {}: --set-aside copies them into another "
                           "schema and begins anew",
                           row->cursor.lsn.value(), log_id_text(row->cursor.log));
    }
    auto done = put_aside(*connection_, report.cursor.epoch);
    if (!done) return done.error();
    aside = std::move(*done);
  }
  known_ = KnownItems();
  PostgresBatch writer(*connection_, *tables_, known_, false, settings_.existing_items);
  writer.keep(std::move(aside.kept));
  PostgresStart start(writer, state.at());
  HOLDFAST_TRY(state.read(start));
  if (!aside.schema.empty()) HOLDFAST_TRY(finish_history(*connection_, aside.schema));
  HOLDFAST_TRY(tables_->put_cursor(report.cursor, owner_));
  HOLDFAST_TRY(connection_->commit());
  cursor_ = report.cursor;
  report.items = start.items();
  report.orders = start.orders();
  report.no_row = writer.figures().resolved;
  report.parked = writer.figures().parked - report.no_row;
  report.set_aside = std::move(aside.schema);
  return report;
}

Result<Cursor> PostgresSink::adopt(const LogRange& range) {
  HOLDFAST_TRY(or_disconnect(connect()));
  return or_disconnect(do_adopt(range));
}

Result<Cursor> PostgresSink::do_adopt(const LogRange& range) {
  const auto row = make_cursor();
  if (!row) return row.error();
  if (!row->marked) return changed_by_hand(*row);
  HOLDFAST_TRY(check_adoption(row->cursor, range));
  const Cursor cursor{range.log, row->cursor.lsn, row->cursor.epoch.next()};
  HOLDFAST_TRY(tables_->put_cursor(cursor, owner_));
  HOLDFAST_TRY(connection_->commit());
  cursor_ = cursor;
  return cursor;
}

}  // namespace

std::unique_ptr<EventSink> make_postgres_sink(PostgresSinkSettings settings) {
  return std::make_unique<PostgresSink>(std::move(settings));
}

}  // namespace holdfast
