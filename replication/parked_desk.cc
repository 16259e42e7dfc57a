#include "replication/parked_desk.h"

#include "protocol/check.h"
#include "protocol/outside_text.h"
#include "replication/migrations.h"
#include "replication/postgres_audit.h"
#include "replication/postgres_fold.h"
#include "replication/postgres_migrate.h"
#include "replication/postgres_parked.h"
#include "replication/sql_rows.h"

#include <fmt/format.h>

namespace holdfast {
namespace {

constexpr const char* kColumns =
    "SELECT number, item, version, key, reason, detail, state, cancel, user_id, quantity, from_status, to_status,"
    " stock_delta, first_sequence, last_sequence, (extract(epoch FROM parked_at) * 1000)::bigint,"
    " (extract(epoch FROM changed_at) * 1000)::bigint FROM holdfast_parked";
const SqlStatement kFind{
    "find_parked", std::string(kColumns) +
                       " WHERE ($1 = '' OR item = $1) AND ($2 = '' OR key = $2) AND ($3 = 't' OR state = 'parked')"
                       " ORDER BY parked_at, number, first_sequence"};
const SqlStatement kLockParked{"lock_parked", std::string(kColumns) +
                                                  " WHERE number = $1::bigint AND key = $2 AND first_sequence = "
                                                  "$3::bigint FOR UPDATE"};
const SqlStatement kOver{"version_over",
                         "SELECT NOT EXISTS (SELECT FROM holdfast_item WHERE number = $1::bigint AND live)"};
const SqlStatement kMark{"mark_parked",
                         "UPDATE holdfast_parked SET cancel = $4, stock_delta = stock_delta + $5::bigint"
                         " WHERE number = $1::bigint AND key = $2 AND first_sequence = $3::bigint"};
const SqlStatement kEnd{"end_parked",
                        "UPDATE holdfast_parked SET state = 'cancelled', stock_delta = stock_delta + $4::bigint"
                        " WHERE number = $1::bigint AND key = $2 AND first_sequence = $3::bigint"};
const SqlStatement kTakeBack{"take_back",
                             "UPDATE flash_sale_item i SET quantity = i.quantity - $2::bigint FROM holdfast_item k"
                             " WHERE k.number = $1::bigint AND i.item_id = k.item_id AND i.version = k.version"
                             " AND i.sold <= i.quantity - $2::bigint"};

ParkedEntry entry_in(const SqlRow& row) {
  ParkedEntry entry;
  entry.number = ItemNumber(unsigned_in(row, 0));
  entry.item = inside_bytes(row.at(1).value_or("")).value_or("");
  entry.version = ItemVersion(unsigned_in(row, 2));
  entry.key = row.at(3).value_or("");
  entry.reason = row.at(4).value_or("");
  entry.detail = row.at(5).value_or("");
  entry.state = row.at(6).value_or("");
  entry.cancel = row.at(7).value_or("");
  entry.user = row.at(8);
  entry.quantity = number_in(row, 9);
  entry.from = row.at(10).value_or("");
  entry.to = row.at(11).value_or("");
  entry.stock_delta = number_in(row, 12);
  entry.first = Sequence(unsigned_in(row, 13));
  entry.last = Sequence(unsigned_in(row, 14));
  entry.parked_at = wall_time(number_in(row, 15));
  entry.changed_at = wall_time(number_in(row, 16));
  return entry;
}

std::vector<std::string> key_of(const ParkedEntry& entry) {
  return {std::to_string(entry.number.value()), entry.key, std::to_string(entry.first.value())};
}

}  // namespace

std::string_view unit_name(CancelUnit unit) noexcept { return unit == CancelUnit::give_back ? "return" : "write-off"; }

Result<std::unique_ptr<ParkedDesk>> ParkedDesk::open(const std::string& url) {
  auto connection = PostgresConnection::connect(url);
  if (!connection) return connection.error();
  HOLDFAST_TRY((*connection)->begin());
  const auto ids = check_schema(**connection);
  if (!ids) return ids.error();
  HOLDFAST_TRY((*connection)->commit());
  return std::unique_ptr<ParkedDesk>(new ParkedDesk(std::move(*connection), *ids));
}

Result<std::vector<ParkedEntry>> ParkedDesk::find(const ParkedFilter& filter) {
  HOLDFAST_TRY(connection_->begin());
  const auto found = connection_->run(kFind, {outside_text(filter.item), filter.key, filter.all ? "t" : "f"});
  if (!found) return found.error();
  HOLDFAST_TRY(connection_->commit());
  std::vector<ParkedEntry> entries;
  for (const SqlRow& row : found->rows) entries.push_back(entry_in(row));
  return entries;
}

Result<std::optional<ParkedEntry>> ParkedDesk::lock(const ParkedEntry& entry) {
  HOLDFAST_TRY(connection_->begin());
  HOLDFAST_TRY(hold_relay(*connection_));
  const auto found = connection_->run(kLockParked, key_of(entry));
  if (!found) return found.error();
  if (found->rows.empty()) return std::optional<ParkedEntry>();
  return std::optional(entry_in(found->rows.front()));
}

Result<std::string> ParkedDesk::retry(const ParkedEntry& entry) {
  auto why = retry_locked(entry);
  if (why) HOLDFAST_TRY(connection_->commit());
  return why;
}

Result<std::string> ParkedDesk::retry_locked(const ParkedEntry& entry) {
  const auto now = lock(entry);
  if (!now) return now.error();
  if (!*now || (*now)->state != "parked") return std::string("it is not parked any more");
  if (!(*now)->cancel.empty()) return fmt::format("it is being cancelled ({})", (*now)->cancel);
  const auto item = tables_.known_item(entry.number);
  if (!item) return item.error();
  auto chains = load_chains(*connection_, std::vector<ChainName>{{entry.number, entry.key}});
  if (!chains) return chains.error();
  std::string why = "holdfast_item does not know its item";
  if (*item && !chains->empty()) {
    auto written = write(chains->front(), **item);
    if (!written) return written.error();
    why = std::move(*written);
  }
  if (why.empty()) {
    KnownItems known;
    known.put(**item);
    ParkedChain& chain = chains->front();
    chain.parked = false;
    const ParkedChain* const resolved = &chain;
    HOLDFAST_TRY(save_chains(*connection_, std::span(&resolved, 1), known));
    HOLDFAST_TRY(note(**now, "parked retry", "written as " + (*now)->to));
  }
  return why;
}

/// All of it, or nothing and why not.
Result<std::string> ParkedDesk::write(const ParkedChain& chain, const KnownItem& item) {
  if (item.refused) {
    const auto& [reason, words] = *item.refused;
    return fmt::format("nothing of this item is in the tables ({}{}{})", reason_name(reason), words.empty() ? "" : ": ",
                       words);
  }
  if (chain.change && !outside_user_id(tables_.ids(), chain.change->user)) {
    return std::string("the user is no number, and the tables have bigint ids");
  }
  KnownItems known;
  known.put(item);
  OrderFold fold = fold_chain(chain, item.facts);
  if (!chain.change) {
    // What the item says has gone on since.
    fold.items.front().described = true;
    fold.items.front().last = item.sequence;
  }
  const auto trial = PostgresFold(*connection_, tables_).write(fold, known);
  if (!trial) return trial.error();
  if (trial->fits()) return std::string();
  return (trial->refusal.reason == ParkReason::no_room ? "no room: " : "") + trial->refusal.detail;
}

Result<bool> ParkedDesk::begin_cancel(const ParkedEntry& entry, CancelUnit unit) {
  CHECK(entry.is_reservation());
  const auto now = lock(entry);
  if (!now) return now.error();
  bool begun = *now && (*now)->cancel == unit_name(unit);
  if (*now && (*now)->state == "parked" && (*now)->cancel.empty()) {
    // The relay will take the written-off unit from what the chain moves quantity by: here it gets it beforehand.
    const bool lacks_unit = unit == CancelUnit::write_off && (*now)->reason == "no_room" && !(*now)->ended();
    auto parameters = key_of(entry);
    parameters.emplace_back(unit_name(unit));
    parameters.push_back(std::to_string(lacks_unit ? (*now)->quantity : 0));
    HOLDFAST_TRY(connection_->run(kMark, parameters));
    HOLDFAST_TRY(note(**now, "parked cancel", fmt::format("begun: {}", unit_name(unit))));
    begun = true;
  }
  HOLDFAST_TRY(connection_->commit());
  return begun;
}

Result<bool> ParkedDesk::version_ended(const ParkedEntry& entry) {
  HOLDFAST_TRY(connection_->begin());
  const auto over = is_over(entry.number);
  if (over) HOLDFAST_TRY(connection_->commit());
  return over;
}

Result<bool> ParkedDesk::is_over(ItemNumber number) {
  const auto found = connection_->run(kOver, {std::to_string(number.value())});
  if (!found) return found.error();
  return found->rows.at(0).at(0) == "t";
}

Result<bool> ParkedDesk::finish_cancel(const ParkedEntry& entry) {
  const auto now = lock(entry);
  if (!now) return now.error();
  if (!*now) return Error(ErrorCode::not_found, "its row in holdfast_parked is gone: somebody removed it meanwhile");
  const auto over = is_over(entry.number);
  if (!over) return over.error();
  const bool ready = *over || (*now)->ended() || !(*now)->is_reservation();
  if (ready && (*now)->state != "cancelled") {
    HOLDFAST_TRY(take_back(**now));
    HOLDFAST_TRY(note(**now, "parked cancel",
                      fmt::format("ended as {}{}", (*now)->to.empty() ? "no change" : (*now)->to,
                                  *over ? ", with its version" : "")));
  }
  HOLDFAST_TRY(connection_->commit());
  return ready;
}

/// Ends the row. A unit that was to be written off, and which its reservation gave back before, left no total: what the
/// chain got for it beforehand goes again.
Result<void> ParkedDesk::take_back(const ParkedEntry& now) {
  const std::int64_t surplus = now.is_reservation() && now.stock_delta > 0 ? now.stock_delta : 0;
  if (surplus > 0 && now.state == "resolved") {
    HOLDFAST_TRY(connection_->run(kTakeBack, {std::to_string(now.number.value()), std::to_string(surplus)}));
  }
  auto parameters = key_of(now);
  parameters.push_back(std::to_string(-surplus));
  HOLDFAST_TRY(connection_->run(kEnd, parameters));
  return {};
}

Result<void> ParkedDesk::note(const ParkedEntry& entry, std::string_view action, std::string_view text) {
  const AuditNote note{std::string(action), outside_text(entry.item), entry.version.value(), entry.key, "", "",
                       std::string(text)};
  return note_audit(*connection_, std::span(&note, 1));
}

}  // namespace holdfast
