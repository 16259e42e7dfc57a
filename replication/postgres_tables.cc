#include "replication/postgres_tables.h"

#include "protocol/check.h"
#include "protocol/outside_text.h"
#include "replication/event_json.h"
#include "replication/journal_row.h"
#include "replication/limits.h"
#include "replication/migrations.h"
#include "replication/postgres_statements.h"
#include "replication/sql_rows.h"

#include <algorithm>
#include <boost/json.hpp>

namespace holdfast {
namespace {

using namespace postgres_statements;

std::string text_of(std::uint64_t number) { return std::to_string(number); }
std::string text_of(std::int64_t number) { return std::to_string(number); }

std::string state_text(const ItemFacts& item) { return item.dropped ? "DROPPED" : std::string(state_name(item.state)); }

std::string facts_text(const ItemFacts& item) { return boost::json::serialize(facts_to_json(item)); }

std::optional<std::int64_t> ms(const std::optional<WallTime>& time) {
  return time ? std::optional<std::int64_t>(to_ms(*time)) : std::nullopt;
}

const SqlStatement& load_statement(RowOfLoad how) {
  switch (how) {
    case RowOfLoad::add:
      return kAddItem;
    case RowOfLoad::adopt:
      return kAdoptItem;
    case RowOfLoad::restart:
      return kRestartItem;
    case RowOfLoad::next_version:
      return kNextVersion;
  }
  CHECK(false);
}

/// Of a row of kLiveItems.
Result<KnownItem> known_item_in(const SqlRow& row) {
  const auto facts = facts_from_json(row.at(4).value_or(""));
  if (!facts) return facts.error();
  KnownItem item{*facts, row.at(0).value_or(""), {}, number_in(row, 2), Sequence(unsigned_in(row, 3))};
  if (!row.at(1)) return item;
  item.refused = Refusal{parse_reason(*row[1]).value_or(ParkReason::foreign_row), row.at(5).value_or("")};
  item.kept = {number_in(row, 6), number_in(row, 7)};
  return item;
}

/// Counts rows by item: what a statement should have written and what it says that it did.
class RowCount {
 public:
  void expect(const KnownItem& item) {
    const auto& facts = *item.facts;
    auto& entry = entries_[{item.item_id, text_of(facts.version.value())}];
    entry.number = facts.number;
    ++entry.missing;
  }

  WriteResult compare(const SqlAnswer& answer) {
    WriteResult result;
    if (!answer.refused.empty()) {
      result.refused = answer.refused;
      return result;
    }
    for (const SqlRow& row : answer.rows) --entries_[{row.at(0).value_or(""), row.at(1).value_or("")}].missing;
    for (const auto& [key, entry] : entries_) {
      if (entry.missing != 0) result.unfit.push_back(entry.number);
    }
    return result;
  }

 private:
  struct Entry {
    ItemNumber number;
    std::int64_t missing = 0;
  };
  std::map<std::pair<std::string, std::string>, Entry> entries_;
};

}  // namespace

Result<SqlAnswer> PostgresTables::run(const SqlStatement& statement, const std::vector<std::string>& parameters) {
  return connection_.run({statement.name, sql_with_ids(statement.text, ids_)}, parameters);
}

Result<SqlAnswer> PostgresTables::try_run(const SqlStatement& statement, const std::vector<std::string>& parameters) {
  return connection_.try_run({statement.name, sql_with_ids(statement.text, ids_)}, parameters);
}

Result<CursorRow> PostgresTables::lock_cursor() {
  const auto found = run(kLockCursor, {sink_});
  if (!found) return found.error();
  CursorRow row;
  if (found->rows.empty()) return row;
  const SqlRow& columns = found->rows.front();
  row.there = true;
  if (columns.at(0)) {
    const auto log = parse_log_id(*columns[0]);
    if (!log) return log.error();
    row.cursor.log = *log;
  }
  row.cursor.lsn = Lsn(unsigned_in(columns, 1));
  row.cursor.epoch = Epoch(unsigned_in(columns, 2));
  row.owner = columns.at(3).value_or("");
  row.parking = columns.at(4) == "t";
  row.marked = columns.at(5) == "t";
  return row;
}

Result<void> PostgresTables::make_cursor(const std::string& owner) {
  HOLDFAST_TRY(run(kMakeCursor, {sink_, owner}));
  return {};
}

Result<std::string> PostgresTables::sink_of_tables() {
  const auto found = run(kSinkOfTables, {});
  if (!found) return found.error();
  return found->rows.empty() ? std::string() : found->rows.front().at(0).value_or("");
}

Result<void> PostgresTables::take_over(Epoch epoch, const std::string& owner) {
  HOLDFAST_TRY(run(kTakeOver, {sink_, text_of(epoch.value()), owner}));
  return {};
}

Result<void> PostgresTables::put_cursor(const Cursor& cursor, const std::string& owner) {
  HOLDFAST_TRY(run(
      kPutCursor, {sink_, log_id_text(cursor.log), text_of(cursor.lsn.value()), text_of(cursor.epoch.value()), owner}));
  return {};
}

Result<bool> PostgresTables::move_cursor(const Cursor& from, const LogId& log, Lsn to) {
  const auto moved = run(kMoveCursor, {sink_, log_id_text(log), text_of(to.value()), text_of(from.lsn.value()),
                                       text_of(from.epoch.value())});
  if (!moved) return moved.error();
  return moved->affected == 1;
}

Result<bool> PostgresTables::knows_any_item() {
  const auto found = run(kKnowsAny, {});
  if (!found) return found.error();
  return found->rows.at(0).at(0) == "t";
}

Result<std::vector<KnownItem>> PostgresTables::live_items() {
  const auto found = run(kLiveItems, {});
  if (!found) return found.error();
  std::vector<KnownItem> items;
  for (const SqlRow& row : found->rows) {
    auto item = known_item_in(row);
    if (!item) return item.error();
    items.push_back(std::move(*item));
  }
  return items;
}

Result<std::optional<KnownItem>> PostgresTables::known_item(ItemNumber number) {
  const auto found = run(kKnownItem, {text_of(number.value())});
  if (!found) return found.error();
  if (found->rows.empty()) return std::optional<KnownItem>();
  auto item = known_item_in(found->rows.front());
  if (!item) return item.error();
  return std::optional(std::move(*item));
}

Result<std::string> PostgresTables::owner_of(const std::string& item_id) {
  const auto found = run(kOwnerOf, {item_id});
  if (!found) return found.error();
  return found->rows.empty() ? std::string() : found->rows.front().at(0).value_or("");
}

Result<std::vector<ItemNumber>> PostgresTables::end_versions(const std::string& name) {
  const auto ended = run(kEndVersions, {outside_text(name)});
  if (!ended) return ended.error();
  std::vector<ItemNumber> numbers;
  for (const SqlRow& row : ended->rows) numbers.emplace_back(unsigned_in(row, 0));
  return numbers;
}

Result<bool> PostgresTables::add_known(const KnownItem& item) {
  const ItemFacts& facts = *item.facts;
  const auto added =
      run(kAddKnown,
          {text_of(facts.number.value()), outside_text(facts.name), text_of(facts.version.value()), item.item_id,
           item.refused ? std::string(reason_name(item.refused->reason)) : "", item.refused ? item.refused->detail : "",
           text_of(item.total), facts_text(facts), text_of(item.begins.value()), text_of(item.kept.quantity_difference),
           text_of(item.kept.sold_before)});
  if (!added) return added.error();
  return added->affected == 1;
}

Result<void> PostgresTables::save_known(std::span<const KnownItem* const> items) {
  if (items.empty()) return {};
  SqlRows<5> rows;
  for (const KnownItem* item : items) {
    rows.add(item->facts->number.value(), item->total, item->sequence.value(), !item->facts->dropped,
             facts_text(*item->facts));
  }
  const auto saved = run(kSaveKnown, rows.parameters());
  if (!saved) return saved.error();
  if (saved->affected == items.size()) return {};
  return Error::format(ErrorCode::damaged,
                       "holdfast_item does not have the {} items that it should: somebody changed it", items.size());
}

Result<std::vector<std::pair<ItemNumber, WallTime>>> PostgresTables::free_places(
    std::span<const KnownItem* const> items, bool existing_items) {
  SqlRows<3> rows;
  for (const KnownItem* item : items) {
    const ItemFacts& facts = *item->facts;
    rows.add(facts.number.value(), outside_item_id(ids_, facts.name).value(), facts.version.value());
  }
  auto parameters = rows.parameters();
  parameters.emplace_back(existing_items ? "t" : "f");
  parameters.push_back(text_of(std::uint64_t{kClaimsAtOnce}));
  const auto found = run(kFreePlaces, parameters);
  if (!found) return found.error();
  std::vector<std::pair<ItemNumber, WallTime>> free;
  for (const SqlRow& row : found->rows) free.emplace_back(unsigned_in(row, 0), wall_time(number_in(row, 1)));
  return free;
}

Result<void> PostgresTables::claim(const KnownItem& item) {
  const auto claimed = run(kClaim, {text_of(item.facts->number.value()), item.item_id});
  if (!claimed) return claimed.error();
  if (claimed->affected == 1) return {};
  return Error::format(ErrorCode::damaged, "holdfast_item does not have {} as it was: somebody changed it",
                       outside_text(item.facts->name));
}

Result<ItemRow> PostgresTables::lock_item(const std::string& item_id) {
  const auto found = run(kLockItem, {item_id});
  if (!found) return found.error();
  ItemRow row;
  if (found->rows.empty()) return row;
  const SqlRow& columns = found->rows.front();
  row.there = true;
  row.ours = columns.at(0).has_value();
  row.version = ItemVersion(unsigned_in(columns, 0));
  row.sold = number_in(columns, 1);
  row.quantity = number_in(columns, 2);
  return row;
}

Result<std::string> PostgresTables::load_item(RowOfLoad how, const KnownItem& item, const Event& load) {
  const ItemFacts& facts = *item.facts;
  const ItemDefinition& definition = facts.definition;
  std::vector<std::string> parameters = {item.item_id,
                                         text_of(facts.version.value()),
                                         state_text(facts),
                                         text_of(definition.price),
                                         outside_text(definition.currency),
                                         outside_text(definition.sale),
                                         outside_text(definition.product),
                                         text_of(to_ms(definition.opens_at)),
                                         text_of(to_ms(definition.closes_at)),
                                         text_of(to_ms(load.at))};
  if (how == RowOfLoad::add || how == RowOfLoad::next_version) parameters.push_back(text_of(total(load.after)));
  if (how == RowOfLoad::restart) {
    const KeptRow& kept = item.kept;
    parameters.push_back(text_of(std::max(total(load.after) + kept.quantity_difference, kept.sold_before)));
    parameters.push_back(text_of(kept.sold_before));
  }
  const auto done = try_run(load_statement(how), parameters);
  if (!done) return done.error();
  if (!done->refused.empty() || done->affected == 1) return done->refused;
  return Error::format(ErrorCode::damaged, "the row of {} is not as it was: somebody changed it",
                       outside_text(facts.name));
}

Result<WriteResult> PostgresTables::update_orders(std::span<const OrderChange> changes, const KnownItems& known) {
  if (changes.empty()) return WriteResult();
  SqlRows<13> rows;
  RowCount count;
  for (const OrderChange& change : changes) {
    const KnownItem& item = known.at(change.item);
    CHECK(change.from.has_value());
    count.expect(item);
    rows.add(item.item_id, item.facts->version.value(), id_text(change.id), outside_user_id(ids_, change.user).value(),
             change.quantity.value(), status_name(*change.from), status_name(change.to), change.sets_expiry,
             ms(change.expires_at), change.last.value(), change.last_lsn.value(), to_ms(change.last_at),
             change.exclusive);
  }
  const auto answer = try_run(kUpdateOrders, rows.parameters());
  if (!answer) return answer.error();
  return count.compare(*answer);
}

Result<WriteResult> PostgresTables::insert_orders(std::span<const OrderChange> changes, const KnownItems& known) {
  if (changes.empty()) return WriteResult();
  SqlRows<15> rows;
  RowCount count;
  for (const OrderChange& change : changes) {
    const KnownItem& item = known.at(change.item);
    CHECK(!change.from.has_value());
    count.expect(item);
    rows.add(item.item_id, item.facts->version.value(), id_text(change.id), outside_user_id(ids_, change.user).value(),
             change.quantity.value(), status_name(change.to), change.exclusive.value_or(false), change.price,
             outside_text(change.currency), outside_text(change.sale), change.last.value(), change.last_lsn.value(),
             to_ms(change.reserved_at), ms(change.expires_at), to_ms(change.last_at));
  }
  const auto answer = try_run(kInsertOrders, rows.parameters());
  if (!answer) return answer.error();
  return count.compare(*answer);
}

Result<WriteResult> PostgresTables::describe_items(std::span<const ItemSum> items, const KnownItems& known) {
  SqlRows<10> rows;
  bool any = false;
  for (const ItemSum& sum : items) {
    if (!sum.described) continue;
    any = true;
    const ItemFacts& facts = *sum.item;
    const ItemDefinition& definition = facts.definition;
    rows.add(known.at(facts.number).item_id, facts.version.value(), sum.last.value(), state_text(facts),
             definition.price, outside_text(definition.currency), outside_text(definition.sale),
             outside_text(definition.product), to_ms(definition.opens_at), to_ms(definition.closes_at));
  }
  WriteResult result;
  if (!any) return result;
  const auto answer = try_run(kDescribeItems, rows.parameters());
  if (!answer) return answer.error();
  result.refused = answer->refused;
  return result;
}

Result<WriteResult> PostgresTables::sum_items(std::span<const ItemSum> items, const KnownItems& known) {
  if (items.empty()) return WriteResult();
  SqlRows<6> rows;
  RowCount count;
  for (const ItemSum& sum : items) {
    const KnownItem& item = known.at(sum.item->number);
    count.expect(item);
    rows.add(item.item_id, item.facts->version.value(), sum.stock_delta, sum.sold_delta, sum.last.value(),
             to_ms(sum.last_at));
  }
  const auto answer = try_run(kSumItems, rows.parameters());
  if (!answer) return answer.error();
  return count.compare(*answer);
}

std::vector<std::string> PostgresTables::journal_columns(std::span<const Event> events) const {
  SqlRows<16> rows;
  for (const Event& event : events) {
    const JournalRow row = journal_row(event);
    rows.add(row.item, event.item->version.value(), row.sequence.value(), row.lsn.value(), row.event, row.at_ms, row.id,
             row.user, row.quantity, row.flags, row.expires_at_ms, row.reason, row.after.available, row.after.reserved,
             row.after.confirmed, row.after.held);
  }
  return rows.parameters();
}

Result<std::uint64_t> PostgresTables::write_journal(std::span<const Event> events) {
  if (events.empty()) return std::uint64_t{0};
  const auto written = run(kWriteJournal, journal_columns(events));
  if (!written) return written.error();
  return written->affected;
}

Result<std::string> PostgresTables::differing_journal(std::span<const Event> events) {
  const auto found = run(kDifferingJournal, journal_columns(events));
  if (!found) return found.error();
  return found->rows.empty() ? std::string() : found->rows.front().at(0).value_or("");
}

}  // namespace holdfast
