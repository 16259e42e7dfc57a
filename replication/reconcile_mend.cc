#include "replication/reconcile_mend.h"

#include "protocol/check.h"
#include "protocol/outside_text.h"
#include "replication/by_halves.h"
#include "replication/limits.h"
#include "replication/migrations.h"
#include "replication/postgres_statements.h"
#include "replication/sql_rows.h"

#include <algorithm>

namespace holdfast {
namespace {

const SqlStatement kCursor{
    "mend_cursor",
    "WITH old AS (SELECT sink, to_jsonb(c) AS before FROM holdfast_cursor c WHERE sink = $1 AND lsn = $2::bigint)"
    " UPDATE holdfast_cursor c SET lsn = $3::bigint, mark = " HOLDFAST_CURSOR_MARK("c.log_id", "$3::bigint") ","
    " updated_at = now() FROM old WHERE c.sink = old.sink"
    " RETURNING '', 0, c.sink, old.before::text, to_jsonb(c)::text"};
// Whoever takes rows away here puts the right ones there in the same transaction.
const SqlStatement kDropJournal{"mend_drop_journal",
                                "DELETE FROM flash_sale_journal j USING unnest($1::text[], $2::bigint[], $3::bigint[]) "
                                "AS u(item, version, sequence)"
                                " WHERE j.item = u.item AND j.version = u.version AND j.sequence = u.sequence"
                                " RETURNING j.item, j.version, 'sequence ' || j.sequence, to_jsonb(j)::text, ''"};

#define HOLDFAST_NOT_CHANGED_SINCE                                                                \
  " NOT EXISTS (SELECT FROM flash_sale_journal j WHERE j.item = u.item AND j.version = u.version" \
  " AND j.sequence > u.as_of AND j.order_id = u.order_id)"
// Whether a row is exclusive is what its last RESERVE or RESUME said.
#define HOLDFAST_TAKEN                                                                                             \
  "SELECT DISTINCT ON (j.item, j.version, j.order_id) j.item, j.version, j.order_id, j.flags & 1 = 1 AS exclusive" \
  "  FROM u JOIN flash_sale_journal j ON j.item = u.item AND j.version = u.version AND j.order_id = u.order_id"    \
  "  WHERE j.event IN ('RESERVE', 'RESUME') AND j.sequence <= u.sequence"                                          \
  "  ORDER BY j.item, j.version, j.order_id, j.sequence DESC"
// What a new row says stands in the journal, but for price, currency and sale, which the log knows, or else the item.
const SqlStatement kInsertOrders{
    "mend_insert_orders",
    "WITH u AS (SELECT * FROM unnest($1::{{id}}[], $2::bigint[], $3::text[], $4::uuid[], $5::{{id}}[], $6::bigint[],"
    " $7::text[], $8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[], $12::text[], $13::text[], $14::bigint[])"
    " AS u(item_id, version, item, order_id, user_id, quantity, status, sequence, lsn, as_of, price, currency, sale_id,"
    " number)),"
    " life AS (SELECT DISTINCT ON (j.item, j.version, j.order_id) j.item, j.version, j.order_id, j.at"
    "  FROM u JOIN flash_sale_journal j ON j.item = u.item AND j.version = u.version AND j.order_id = u.order_id"
    "  WHERE j.event = 'RESERVE' AND j.sequence <= u.sequence"
    "  ORDER BY j.item, j.version, j.order_id, j.sequence DESC),"
    " term AS (SELECT DISTINCT ON (j.item, j.version, j.order_id) j.item, j.version, j.order_id, j.expires_at"
    "  FROM u JOIN flash_sale_journal j ON j.item = u.item AND j.version = u.version AND j.order_id = u.order_id"
    "  WHERE j.event IN ('RESERVE', 'EXTEND') AND j.sequence <= u.sequence"
    "  ORDER BY j.item, j.version, j.order_id, j.sequence DESC),"
    " taken AS (" HOLDFAST_TAKEN
    "),"
    " made AS (INSERT INTO flash_sale_order AS o (item_id, version, order_id, user_id, quantity, status, exclusive, "
    "price,"
    "  currency, sale_id, sequence, lsn, reserved_at, expires_at, updated_at)"
    "  SELECT u.item_id, u.version, u.order_id, u.user_id, u.quantity, u.status, taken.exclusive,"
    "  coalesce(u.price, (k.facts->>'price')::bigint), coalesce(u.currency, k.facts->>'currency'),"
    "  coalesce(u.sale_id, k.facts->>'sale'), u.sequence, u.lsn, life.at, term.expires_at, now()"
    "  FROM u JOIN life USING (item, version, order_id) JOIN term USING (item, version, order_id)"
    "  JOIN taken USING (item, version, order_id)"
    "  JOIN holdfast_item k ON k.number = u.number WHERE" HOLDFAST_NOT_CHANGED_SINCE
    "  ON CONFLICT DO NOTHING RETURNING o.*)"
    " SELECT u.item, u.version, u.order_id, '', to_jsonb(made)::text FROM made JOIN u USING (item_id, version, "
    "order_id)"};
const SqlStatement kUpdateOrders{
    "mend_update_orders",
    "WITH u AS (SELECT * FROM unnest($1::{{id}}[], $2::bigint[], $3::text[], $4::uuid[], $5::{{id}}[], $6::bigint[],"
    " $7::text[], $8::bigint[], $9::bigint[], $10::bigint[], $11::text[], $12::bigint[])"
    " AS u(item_id, version, item, order_id, user_id, quantity, status, sequence, lsn, as_of, found_status,"
    " found_sequence)),"
    " taken AS (" HOLDFAST_TAKEN
    "),"
    " old AS (SELECT u.*, to_jsonb(o) AS before FROM u JOIN flash_sale_order o ON o.item_id = u.item_id"
    "  AND o.version = u.version AND o.order_id = u.order_id"
    "  WHERE o.status = u.found_status AND o.sequence = u.found_sequence AND" HOLDFAST_NOT_CHANGED_SINCE
    "  FOR UPDATE OF o)"
    " UPDATE flash_sale_order o SET user_id = old.user_id, quantity = old.quantity, status = old.status,"
    " exclusive = coalesce(taken.exclusive, o.exclusive), sequence = old.sequence, lsn = old.lsn, updated_at = now()"
    " FROM old LEFT JOIN taken USING (item, version, order_id)"
    " WHERE o.item_id = old.item_id AND o.version = old.version AND o.order_id = old.order_id"
    " RETURNING old.item, o.version, o.order_id, old.before::text, to_jsonb(o)::text"};
// NULL, or false of a column's own flag: it is right as it is.
const SqlStatement kUpdateTerms{
    "mend_update_terms",
    "WITH u AS (SELECT * FROM unnest($1::{{id}}[], $2::bigint[], $3::text[], $4::uuid[], $5::bigint[], $6::text[],"
    " $7::bigint[], $8::boolean[], $9::bigint[], $10::text[], $11::text[], $12::bigint[], $13::boolean[], "
    "$14::bigint[])"
    " AS u(item_id, version, item, order_id, as_of, found_status, found_sequence, exclusive, price, currency, sale_id,"
    " reserved_at, sets_expiry, expires_at)),"
    " old AS (SELECT u.*, to_jsonb(o) AS before FROM u JOIN flash_sale_order o ON o.item_id = u.item_id"
    "  AND o.version = u.version AND o.order_id = u.order_id"
    "  WHERE o.status = u.found_status AND o.sequence = u.found_sequence AND" HOLDFAST_NOT_CHANGED_SINCE
    "  FOR UPDATE OF o)"
    " UPDATE flash_sale_order o SET exclusive = coalesce(old.exclusive, o.exclusive), price = coalesce(old.price, "
    "o.price),"
    " currency = coalesce(old.currency, o.currency), sale_id = coalesce(old.sale_id, o.sale_id),"
    " reserved_at = coalesce(to_timestamp(old.reserved_at / 1000.0), o.reserved_at),"
    " expires_at = CASE WHEN old.sets_expiry THEN to_timestamp(old.expires_at / 1000.0) ELSE o.expires_at END,"
    " updated_at = now() FROM old"
    " WHERE o.item_id = old.item_id AND o.version = old.version AND o.order_id = old.order_id"
    " RETURNING old.item, o.version, o.order_id, old.before::text, to_jsonb(o)::text"};
#undef HOLDFAST_TAKEN
#undef HOLDFAST_NOT_CHANGED_SINCE

const SqlStatement kSold{
    "mend_sold",
    "WITH old AS (SELECT i.item_id, u.item, u.delta, to_jsonb(i) AS before FROM unnest($1::{{id}}[], $2::bigint[],"
    " $3::text[], $4::bigint[]) AS u(item_id, version, item, delta) JOIN flash_sale_item i ON i.item_id = u.item_id"
    " AND i.version = u.version WHERE i.sold + u.delta BETWEEN 0 AND i.quantity FOR UPDATE OF i)"
    " UPDATE flash_sale_item i SET sold = i.sold + old.delta FROM old WHERE i.item_id = old.item_id"
    " RETURNING old.item, i.version, '', old.before::text, to_jsonb(i)::text"};

ReconcileKey key_of(const Difference& difference) { return {difference.number, difference.expected->id.value()}; }

/// In which order kinds are mended: orders need the journal, and sums come last.
constexpr DifferenceKind kOrder[] = {DifferenceKind::cursor,   DifferenceKind::gap,   DifferenceKind::journal,
                                     DifferenceKind::missing,  DifferenceKind::terms, DifferenceKind::state,
                                     DifferenceKind::quantity, DifferenceKind::sold};

}  // namespace

void ReconcileMender::prepare(std::span<const Difference> differences) {
  for (const Difference& difference : differences) {
    if (!difference.mendable) continue;
    const bool of_journal = difference.kind == DifferenceKind::gap || difference.kind == DifferenceKind::journal;
    if (of_journal) rows_.try_emplace({difference.number, difference.sequence});
    const bool of_life = difference.kind == DifferenceKind::missing || difference.kind == DifferenceKind::terms;
    if (of_life) lives_[key_of(difference)] = difference.expected->sequence;
  }
}

void ReconcileMender::offer(const Event& event) {
  const auto row = rows_.find({event.item->number, event.sequence});
  if (row != rows_.end()) row->second.change = event;
  if (!event.is(ReservationEvent::reserve)) return;
  const ReconcileKey key{event.item->number, event.reservation()->id};
  const auto life = lives_.find(key);
  if (life != lives_.end() && event.sequence <= life->second) begun_.insert_or_assign(key, event);
}

Result<ReconcileMender::Counts> ReconcileMender::mend(std::span<const Difference> differences) {
  Counts counts{};
  for (const DifferenceKind kind : kOrder) {
    std::vector<const Difference*> chosen;
    for (const Difference& difference : differences) {
      if (difference.kind == kind && difference.mendable) chosen.push_back(&difference);
    }
    const Batch all(chosen);
    for (std::size_t at = 0; at < all.size(); at += kMendsAtOnce) {
      HOLDFAST_TRY(connection_.begin());
      HOLDFAST_TRY(hold_relay(connection_));
      const auto mended = mend_batch(kind, all.subspan(at, std::min(kMendsAtOnce, all.size() - at)));
      if (!mended) return mended.error();
      HOLDFAST_TRY(connection_.commit());
      counts[static_cast<std::size_t>(kind)] += *mended;
    }
  }
  return counts;
}

Result<std::uint64_t> ReconcileMender::mend_batch(DifferenceKind kind, Batch batch) {
  switch (kind) {
    case DifferenceKind::cursor:
      return mend_cursor(*batch.front());
    case DifferenceKind::gap:
    case DifferenceKind::journal:
      return mend_journal(batch);
    case DifferenceKind::missing:
    case DifferenceKind::terms:
    case DifferenceKind::state:
    case DifferenceKind::quantity:
    case DifferenceKind::sold:
      return mend_rows(batch);
    default:
      CHECK(false);
  }
}

Result<SqlAnswer> ReconcileMender::run(const SqlStatement& statement, const std::vector<std::string>& parameters) {
  return connection_.run({statement.name, sql_with_ids(statement.text, ids_)}, parameters);
}

Result<SqlAnswer> ReconcileMender::try_run(const SqlStatement& statement, const std::vector<std::string>& parameters) {
  return connection_.try_run({statement.name, sql_with_ids(statement.text, ids_)}, parameters);
}

Result<std::uint64_t> ReconcileMender::note(const SqlAnswer& changed, DifferenceKind kind) {
  std::vector<AuditNote> notes;
  for (const SqlRow& row : changed.rows) {
    notes.push_back({"reconcile", row.at(0).value_or(""), unsigned_in(row, 1), row.at(2).value_or(""),
                     row.at(3).value_or(""), row.at(4).value_or(""), std::string(kind_name(kind))});
  }
  HOLDFAST_TRY(note_audit(connection_, notes));
  return static_cast<std::uint64_t>(changed.rows.size());
}

Result<std::uint64_t> ReconcileMender::mend_cursor(const Difference& difference) {
  const auto changed =
      run(kCursor, {sink_, std::to_string(difference.cursor.value()), std::to_string(difference.lsn.value())});
  if (!changed) return changed.error();
  return note(*changed, difference.kind);
}

Result<std::uint64_t> ReconcileMender::mend_journal(Batch batch) {
  std::vector<Event> events;
  std::uint64_t mended = 0;
  SqlRows<3> rows;
  for (const Difference* difference : batch) {
    Row& row = rows_.at({difference->number, difference->sequence});
    if (!row.change) continue;
    ++mended;
    if (std::exchange(row.written, true)) continue;  // by another difference at the same place
    rows.add(difference->item, difference->version.value(), difference->sequence.value());
    events.push_back(*row.change);
  }
  const auto dropped = run(kDropJournal, rows.parameters());
  if (!dropped) return dropped.error();
  HOLDFAST_TRY(note(*dropped, DifferenceKind::journal));
  PostgresTables tables(connection_, ids_, sink_);
  const auto written = tables.write_journal(events);
  if (!written) return written.error();
  std::vector<AuditNote> notes;
  notes.reserve(events.size());
  for (const Event& event : events) {
    notes.push_back({"reconcile", outside_text(event.item->name), event.item->version.value(),
                     "sequence " + std::to_string(event.sequence.value()), "", "", "written as the log says"});
  }
  HOLDFAST_TRY(note_audit(connection_, notes));
  return mended;
}

/// As many together as the database takes. Each that it refuses stays for a person.
Result<std::uint64_t> ReconcileMender::mend_rows(Batch batch) {
  std::uint64_t mended = 0;
  const auto attempt = [&](std::size_t begin, std::size_t count) -> Result<Attempt> {
    auto changed = try_rows(batch.subspan(begin, count));
    if (!changed) return changed.error();
    if (!changed->refused.empty() && count > 1) return Attempt();
    if (!changed->refused.empty()) {
      refused_.push_back({batch[begin], std::move(changed->refused)});
      return Attempt{1, false};
    }
    const auto noted = note(*changed, batch.front()->kind);
    if (!noted) return noted.error();
    mended += *noted;
    return Attempt{count};
  };
  HOLDFAST_TRY(by_halves(batch.size(), attempt));
  return mended;
}

Result<SqlAnswer> ReconcileMender::try_rows(Batch batch) {
  HOLDFAST_TRY(connection_.begin_part());
  auto changed = write_rows(batch);
  if (!changed) return changed;
  auto against = connection_.end_part(changed->refused.empty());
  if (!against) return against.error();
  if (!against->empty()) changed->refused = std::move(*against);
  return changed;
}

Result<SqlAnswer> ReconcileMender::write_rows(Batch batch) {
  switch (batch.front()->kind) {
    case DifferenceKind::missing:
      return insert_orders(batch);
    case DifferenceKind::terms:
      return update_terms(batch);
    case DifferenceKind::sold:
      return update_sold(batch);
    default:
      return update_orders(batch);
  }
}

Result<SqlAnswer> ReconcileMender::insert_orders(Batch batch) {
  SqlRows<14> rows;
  for (const Difference* difference : batch) {
    const Observation& row = *difference->expected;
    const ReconcileItem& item = items_.at(difference->number.value());
    std::optional<std::int64_t> price;
    std::optional<std::string> currency, sale;
    if (const auto begun = begun_.find(key_of(*difference)); begun != begun_.end()) {
      const ItemDefinition& definition = begun->second.item->definition;
      price = definition.price;
      currency = outside_text(definition.currency);
      sale = outside_text(definition.sale);
    }
    rows.add(item.item_id, difference->version.value(), item.item, id_text(row.id.value()), row.user, row.quantity,
             status_name(row.status), row.sequence.value(), row.lsn.value(), difference->as_of.value(), price, currency,
             sale, difference->number.value());
  }
  return try_run(kInsertOrders, rows.parameters());
}

Result<SqlAnswer> ReconcileMender::update_terms(Batch batch) {
  SqlRows<14> rows;
  for (const Difference* difference : batch) {
    const Observation& row = *difference->expected;
    const OrderTerms& terms = row.terms;
    const auto wrong = [&](OrderTerm term, auto value) {
      return terms.told.has(term) ? std::optional(value) : std::nullopt;
    };
    std::optional<std::int64_t> price;
    std::optional<std::string> currency, sale;
    if (terms.told.has(OrderTerm::offer)) {
      const auto begun = begun_.find(key_of(*difference));
      if (begun == begun_.end()) continue;  // the log has lost it meanwhile
      const ItemDefinition& definition = begun->second.item->definition;
      price = definition.price;
      currency = outside_text(definition.currency);
      sale = outside_text(definition.sale);
    }
    rows.add(items_.at(difference->number.value()).item_id, difference->version.value(), difference->item,
             id_text(row.id.value()), difference->as_of.value(), status_name(difference->found->status),
             difference->found->sequence.value(), wrong(OrderTerm::exclusive, terms.exclusive), price, currency, sale,
             wrong(OrderTerm::reserved_at, terms.reserved_at_ms), terms.told.has(OrderTerm::expires_at),
             terms.expires_at_ms);
  }
  return try_run(kUpdateTerms, rows.parameters());
}

Result<SqlAnswer> ReconcileMender::update_orders(Batch batch) {
  SqlRows<12> rows;
  for (const Difference* difference : batch) {
    const Observation& row = *difference->expected;
    const ReconcileItem& item = items_.at(difference->number.value());
    rows.add(item.item_id, difference->version.value(), item.item, id_text(row.id.value()), row.user, row.quantity,
             status_name(row.status), row.sequence.value(), row.lsn.value(), difference->as_of.value(),
             status_name(difference->found->status), difference->found->sequence.value());
  }
  return try_run(kUpdateOrders, rows.parameters());
}

Result<SqlAnswer> ReconcileMender::update_sold(Batch batch) {
  SqlRows<4> rows;
  for (const Difference* difference : batch) {
    const ReconcileItem& item = items_.at(difference->number.value());
    rows.add(item.item_id, difference->version.value(), item.item, difference->delta);
  }
  return try_run(kSold, rows.parameters());
}

}  // namespace holdfast
