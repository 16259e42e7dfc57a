#include "replication/postgres_parked.h"

#include "protocol/outside_text.h"
#include "replication/sql_array.h"
#include "replication/sql_rows.h"

namespace holdfast {
namespace {

const SqlStatement kLoad{
    "load_parked",
    "SELECT p.number, p.key, p.reason, p.detail, p.user_id, p.quantity, p.exclusive, p.price, p.currency, p.sale_id,"
    " (extract(epoch FROM p.reserved_at) * 1000)::bigint, (extract(epoch FROM p.expires_at) * 1000)::bigint, "
    "p.from_status,"
    " p.to_status, p.stock_delta, p.first_sequence, p.last_sequence, p.last_lsn,"
    " (extract(epoch FROM p.parked_at) * 1000)::bigint, (extract(epoch FROM p.changed_at) * 1000)::bigint"
    " FROM unnest($1::bigint[], $2::text[]) AS u(number, key)"
    " JOIN holdfast_parked p ON p.number = u.number AND p.key = u.key AND p.state = 'parked'"};

const SqlStatement kSave{
    "save_parked",
    "INSERT INTO holdfast_parked AS p (number, item, version, key, reason, detail, state, user_id, quantity, "
    "exclusive, price,"
    " currency, sale_id, reserved_at, expires_at, from_status, to_status, stock_delta, first_sequence, last_sequence, "
    "last_lsn,"
    " parked_at, changed_at)"
    " SELECT number, item, version, key, reason, detail, state, user_id, quantity, exclusive, price, currency, sale_id,"
    " to_timestamp(reserved_at / 1000.0), to_timestamp(expires_at / 1000.0), from_status, to_status, stock_delta,"
    " first_sequence, last_sequence, last_lsn, to_timestamp(parked_at / 1000.0), to_timestamp(changed_at / 1000.0)"
    " FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[],"
    " $9::bigint[], $10::boolean[], $11::bigint[], $12::text[], $13::text[], $14::bigint[], $15::bigint[], $16::text[],"
    " $17::text[], $18::bigint[], $19::bigint[], $20::bigint[], $21::bigint[], $22::bigint[], $23::bigint[])"
    " AS u(number, item, version, key, reason, detail, state, user_id, quantity, exclusive, price, currency, sale_id,"
    " reserved_at, expires_at, from_status, to_status, stock_delta, first_sequence, last_sequence, last_lsn, parked_at,"
    " changed_at)"
    " ON CONFLICT (number, key, first_sequence) DO UPDATE SET state = excluded.state, user_id = excluded.user_id,"
    " quantity = excluded.quantity, exclusive = excluded.exclusive, price = excluded.price, currency = "
    "excluded.currency,"
    " sale_id = excluded.sale_id, reserved_at = excluded.reserved_at, expires_at = excluded.expires_at,"
    " to_status = excluded.to_status, stock_delta = excluded.stock_delta, last_sequence = excluded.last_sequence,"
    " last_lsn = excluded.last_lsn, changed_at = excluded.changed_at"};

// From item to item in the index, however much of each is parked.
const SqlStatement kParkedItems{
    "parked_items",
    "WITH RECURSIVE t AS (SELECT min(number) AS number FROM holdfast_parked WHERE state = 'parked'"
    " UNION ALL SELECT (SELECT min(number) FROM holdfast_parked WHERE state = 'parked' AND number > t.number) FROM t"
    " WHERE t.number IS NOT NULL) SELECT number FROM t WHERE number IS NOT NULL"};

// What was resolved before the server heard of it is not told at all.
const SqlStatement kUntold{"untold_parked",
                           "SELECT number, first_sequence, item, version, key, CASE WHEN state = 'parked' THEN reason "
                           "ELSE '' END FROM holdfast_parked"
                           " WHERE told IS DISTINCT FROM state AND (told IS NOT NULL OR state = 'parked') ORDER BY "
                           "changed_at LIMIT $1::bigint"};
const SqlStatement kTold{
    "told_parked",
    "UPDATE holdfast_parked p SET told = CASE WHEN u.parked THEN 'parked' WHEN p.state = 'parked' THEN 'resolved' ELSE "
    "p.state"
    " END FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::boolean[]) AS u(number, key, first_sequence, parked)"
    " WHERE p.number = u.number AND p.key = u.key AND p.first_sequence = u.first_sequence"};

const SqlStatement kMayForget{"may_forget_parked", "SELECT has_table_privilege('holdfast_parked', 'DELETE')"};
const SqlStatement kForget{
    "forget_parked",
    "DELETE FROM holdfast_parked WHERE ctid = ANY (ARRAY(SELECT p.ctid FROM holdfast_parked p"
    " JOIN holdfast_item k ON k.number = p.number"
    " WHERE p.state <> 'parked' AND p.changed_at < to_timestamp($1::bigint / 1000.0)"
    " AND (p.told IS NULL OR p.told = p.state)"
    " AND (NOT k.live OR EXISTS (SELECT FROM flash_sale_order o WHERE o.item_id = k.item_id AND o.version = k.version"
    " AND o.order_id = CASE WHEN p.user_id IS NOT NULL THEN p.key::uuid END))"
    " ORDER BY p.changed_at LIMIT $2::bigint))"};

std::optional<OrderChange> change_in(const SqlRow& row) {
  if (!row.at(4)) return std::nullopt;
  const auto id = ReservationId::parse(row.at(1).value_or(""));
  const auto user = inside_bytes(*row[4]);
  const auto to = parse_status(row.at(13).value_or(""));
  if (!id || !user || !to) return std::nullopt;
  OrderChange change;
  change.item = ItemNumber(unsigned_in(row, 0));
  change.id = *id;
  change.user = *user;
  change.quantity = Quantity(number_in(row, 5));
  if (row.at(6)) change.exclusive = row[6] == "t";
  change.price = number_in(row, 7);
  change.currency = inside_bytes(row.at(8).value_or("")).value_or("");
  change.sale = inside_bytes(row.at(9).value_or("")).value_or("");
  if (row.at(10)) change.reserved_at = wall_time(number_in(row, 10));
  if (row.at(11)) change.expires_at = wall_time(number_in(row, 11));
  change.sets_expiry = row.at(11).has_value();
  if (row.at(12)) change.from = parse_status(*row[12]);
  change.to = *to;
  change.first = Sequence(unsigned_in(row, 15));
  change.last = Sequence(unsigned_in(row, 16));
  change.last_lsn = Lsn(unsigned_in(row, 17));
  change.last_at = wall_time(number_in(row, 19));
  return change;
}

Result<ParkedChain> chain_in(const SqlRow& row) {
  ParkedChain chain;
  chain.number = ItemNumber(unsigned_in(row, 0));
  chain.key = row.at(1).value_or("");
  chain.detail = row.at(3).value_or("");
  chain.change = change_in(row);
  const auto reason = parse_reason(row.at(2).value_or(""));
  if (!reason || chain.change.has_value() != row.at(4).has_value()) {
    return Error::format(ErrorCode::damaged, "holdfast_parked has a row that cannot be read: item number {}, key {}",
                         chain.number.value(), Echo(chain.key).text());
  }
  chain.reason = *reason;
  chain.stock_delta = number_in(row, 14);
  chain.first = Sequence(unsigned_in(row, 15));
  chain.last = Sequence(unsigned_in(row, 16));
  chain.last_lsn = Lsn(unsigned_in(row, 17));
  chain.parked_at = wall_time(number_in(row, 18));
  chain.changed_at = wall_time(number_in(row, 19));
  return chain;
}

std::optional<std::int64_t> ms(const std::optional<WallTime>& time) {
  return time ? std::optional<std::int64_t>(to_ms(*time)) : std::nullopt;
}

void put(SqlRows<23>& rows, const ParkedChain& chain, const ItemFacts& item) {
  const OrderChange empty;
  const OrderChange& change = chain.change ? *chain.change : empty;
  const auto of_order = [&](auto value) { return chain.change ? std::optional(value) : std::nullopt; };
  const bool is_new = chain.change && !change.from;
  rows.add(chain.number.value(), outside_text(item.name), item.version.value(), chain.key, reason_name(chain.reason),
           chain.detail, chain.parked ? "parked" : "resolved", of_order(outside_text(change.user)),
           of_order(change.quantity.value()), change.exclusive, of_order(change.price),
           of_order(outside_text(change.currency)), of_order(outside_text(change.sale)),
           is_new ? ms(change.reserved_at) : std::nullopt, ms(change.expires_at),
           change.from ? std::optional(status_name(*change.from)) : std::nullopt, of_order(status_name(change.to)),
           chain.stock_delta, chain.first.value(), chain.last.value(), chain.last_lsn.value(), to_ms(chain.parked_at),
           to_ms(chain.changed_at));
}

}  // namespace

Result<std::vector<ParkedChain>> load_chains(PostgresConnection& connection, std::span<const ChainName> names) {
  SqlRows<2> rows;
  for (const auto& [number, key] : names) rows.add(number.value(), key);
  const auto found = connection.run(kLoad, rows.parameters());
  if (!found) return found.error();
  std::vector<ParkedChain> chains;
  for (const SqlRow& row : found->rows) {
    auto chain = chain_in(row);
    if (!chain) return chain.error();
    chains.push_back(std::move(*chain));
  }
  return chains;
}

Result<void> save_chains(PostgresConnection& connection, std::span<const ParkedChain* const> chains,
                         const KnownItems& known) {
  if (chains.empty()) return {};
  SqlRows<23> rows;
  for (const ParkedChain* chain : chains) put(rows, *chain, *known.at(chain->number).facts);
  const auto saved = connection.run(kSave, rows.parameters());
  if (!saved) return saved.error();
  if (saved->affected == chains.size()) return {};
  return Error::format(ErrorCode::damaged, "holdfast_parked took {} of {} rows", saved->affected, chains.size());
}

Result<std::set<ItemNumber>> parked_items(PostgresConnection& connection) {
  const auto found = connection.run(kParkedItems, {});
  if (!found) return found.error();
  std::set<ItemNumber> items;
  for (const SqlRow& row : found->rows) items.insert(ItemNumber(unsigned_in(row, 0)));
  return items;
}

Result<std::vector<ParkNotice>> untold_notices(PostgresConnection& connection, std::size_t notices_max) {
  const auto found = connection.run(kUntold, {std::to_string(notices_max)});
  if (!found) return found.error();
  std::vector<ParkNotice> notices;
  for (const SqlRow& row : found->rows) {
    notices.push_back({ItemNumber(unsigned_in(row, 0)), Sequence(unsigned_in(row, 1)),
                       inside_bytes(row.at(2).value_or("")).value_or(""), ItemVersion(unsigned_in(row, 3)),
                       row.at(4).value_or(""), row.at(5).value_or("")});
  }
  return notices;
}

Result<void> note_told(PostgresConnection& connection, const std::vector<ParkNotice>& notices) {
  SqlRows<4> rows;
  for (const ParkNotice& notice : notices) {
    rows.add(notice.number.value(), notice.id, notice.first.value(), notice.parked());
  }
  HOLDFAST_TRY(connection.run(kTold, rows.parameters()));
  return {};
}

Result<bool> may_forget_parked(PostgresConnection& connection) {
  const auto found = connection.run(kMayForget, {});
  if (!found) return found.error();
  return found->rows.at(0).at(0) == "t";
}

Result<std::uint64_t> forget_parked(PostgresConnection& connection, WallTime before, std::size_t rows_max) {
  const auto gone = connection.run(kForget, {std::to_string(to_ms(before)), std::to_string(rows_max)});
  if (!gone) return gone.error();
  return gone->affected;
}

}  // namespace holdfast
