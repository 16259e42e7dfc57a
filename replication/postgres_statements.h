// The statements of the postgres sink, over arrays of rows; {{id}} is the type of items' and users' ids. Constants.
#pragma once

#include "replication/postgres_connection.h"

/// What holdfast_cursor.mark is where log and LSN are as a relay, or holdfastctl, wrote them.
#define HOLDFAST_CURSOR_MARK(log, lsn) "md5(coalesce((" log ")::text, '') || ':' || (" lsn ")::text)"

/// A version of another log may stand under the same number: the one that ended last does.
#define HOLDFAST_NEWER_HISTORY                                                                                  \
  "ON CONFLICT (item_id, version) DO UPDATE SET quantity = excluded.quantity, sold = excluded.sold, sequence =" \
  " excluded.sequence, state = excluded.state, price = excluded.price, currency = excluded.currency,"           \
  " sale_id = excluded.sale_id, ended_at = excluded.ended_at"

namespace holdfast::postgres_statements {

inline const SqlStatement kLockCursor{
    "lock_cursor",
    "SELECT log_id::text, lsn, epoch, owner::text, EXISTS (SELECT FROM holdfast_parked WHERE state = 'parked'),"
    " mark = " HOLDFAST_CURSOR_MARK("log_id", "lsn") ","
    " pg_advisory_xact_lock(hashtextextended('holdfast-sink ' || $1, 0)) FROM holdfast_cursor WHERE sink = $1 FOR "
    "UPDATE"};
inline const SqlStatement kMakeCursor{
    "make_cursor",
    "INSERT INTO holdfast_cursor (sink, lsn, mark, epoch, owner, updated_at)"
    " VALUES ($1, 0, " HOLDFAST_CURSOR_MARK("NULL", "0") ", 0, $2::uuid, now())"
    " ON CONFLICT DO NOTHING"};
// The one sink that the tables are of (holdfast_cursor_one).
inline const SqlStatement kSinkOfTables{"sink_of_tables", "SELECT sink FROM holdfast_cursor LIMIT 1"};
inline const SqlStatement kTakeOver{
    "take_over", "UPDATE holdfast_cursor SET epoch = $2::bigint, owner = $3::uuid, updated_at = now() WHERE sink = $1"};
inline const SqlStatement kMoveCursor{
    "move_cursor",
    "UPDATE holdfast_cursor SET log_id = $2::uuid, lsn = $3::bigint,"
    " mark = " HOLDFAST_CURSOR_MARK("$2::uuid", "$3::bigint") ", updated_at = now()"
    " WHERE sink = $1 AND lsn = $4::bigint AND epoch = $5::bigint AND coalesce(log_id, $2::uuid) = $2::uuid"};
inline const SqlStatement kPutCursor{
    "put_cursor",
    "WITH before AS (SELECT to_jsonb(c) AS row FROM holdfast_cursor c WHERE sink = $1), audit AS ("
    "INSERT INTO holdfast_audit (action, key, before, note)"
    " SELECT 'put cursor', $1, row, format('to LSN %s of log %s', $3::bigint, $2::uuid) FROM before)"
    " UPDATE holdfast_cursor SET log_id = $2::uuid, lsn = $3::bigint,"
    " mark = " HOLDFAST_CURSOR_MARK("$2::uuid", "$3::bigint") ", epoch = $4::bigint, owner = $5::uuid,"
    " updated_at = now() WHERE sink = $1"};

inline const SqlStatement kKnowsAny{"knows_any", "SELECT EXISTS (SELECT FROM holdfast_item)"};
#define HOLDFAST_KNOWN_ITEM                                                                                      \
  "SELECT item_id::text, refused, total, sequence, facts::text, refused_words, kept_quantity, sold_before FROM " \
  "holdfast_item WHERE "
inline const SqlStatement kLiveItems{"live_items", HOLDFAST_KNOWN_ITEM "live"};
inline const SqlStatement kKnownItem{"known_item", HOLDFAST_KNOWN_ITEM "number = $1::bigint"};
#undef HOLDFAST_KNOWN_ITEM
inline const SqlStatement kOwnerOf{"owner_of",
                                   "SELECT item FROM holdfast_item WHERE item_id = $1::{{id}} ORDER BY number LIMIT 1"};
inline const SqlStatement kEndVersions{
    "end_versions", "UPDATE holdfast_item SET live = false WHERE item = $1 AND live RETURNING number"};
inline const SqlStatement kAddKnown{
    "add_known",
    "INSERT INTO holdfast_item (number, item, version, item_id, refused, refused_words, total, sequence, begins, live,"
    " facts, kept_quantity, sold_before) VALUES ($1::bigint, $2, $3::bigint, nullif($4, '')::{{id}}, nullif($5, ''),"
    " nullif($6, ''), $7::bigint, $9::bigint, $9::bigint, true, $8::jsonb,"
    " CASE WHEN $5 = '' THEN 0 ELSE $10::bigint END,"
    " coalesce((SELECT sold FROM flash_sale_item WHERE item_id = nullif($4, '')::{{id}}), $11::bigint))"
    " ON CONFLICT DO NOTHING"};
inline const SqlStatement kSaveKnown{
    "save_known",
    "UPDATE holdfast_item k SET total = u.total, sequence = u.sequence, live = u.live, facts = u.facts::jsonb"
    " FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::boolean[], $5::text[])"
    " AS u(number, total, sequence, live, facts) WHERE k.number = u.number AND k.sequence < u.sequence"};

inline const SqlStatement kFreePlaces{
    "free_places",
    "SELECT u.number, (extract(epoch FROM now()) * 1000)::bigint"
    " FROM unnest($1::bigint[], $2::{{id}}[], $3::bigint[]) WITH ORDINALITY AS u(number, item_id, version, place)"
    " LEFT JOIN flash_sale_item i ON i.item_id = u.item_id WHERE i.item_id IS NULL OR ($4::boolean AND i.version IS "
    "NULL) OR i.version < u.version ORDER BY u.place LIMIT $5::bigint"};
inline const SqlStatement kClaim{
    "claim_item",
    "UPDATE holdfast_item SET item_id = $2::{{id}}, refused = NULL, refused_words = NULL, kept_quantity = 0,"
    " sold_before = coalesce((SELECT sold FROM flash_sale_item WHERE item_id = $2::{{id}}), 0)"
    " WHERE number = $1::bigint AND refused IS NOT NULL"};
inline const SqlStatement kLockItem{
    "lock_item", "SELECT version, sold, quantity FROM flash_sale_item WHERE item_id = $1::{{id}} FOR UPDATE"};
inline constexpr const char* kDescribed =
    "state = $3, price = $4::bigint, currency = $5, sale_id = $6, product_id = $7,"
    " opens_at = to_timestamp(nullif($8::bigint, 0) / 1000.0), closes_at = to_timestamp(nullif($9::bigint, 0) / "
    "1000.0),"
    " updated_at = to_timestamp($10::bigint / 1000.0)";
inline const SqlStatement kAddItem{
    "add_item",
    "INSERT INTO flash_sale_item (item_id, version, state, price, currency, sale_id, product_id, opens_at, closes_at,"
    " updated_at, quantity, sold, sequence) VALUES ($1::{{id}}, $2::bigint, $3, $4::bigint, $5, $6, $7,"
    " to_timestamp(nullif($8::bigint, 0) / 1000.0), to_timestamp(nullif($9::bigint, 0) / 1000.0),"
    " to_timestamp($10::bigint / 1000.0), $11::bigint, 0, 1)"};
inline const SqlStatement kAdoptItem{
    "adopt_item", std::string("UPDATE flash_sale_item SET version = $2::bigint, sequence = 1, ") + kDescribed +
                      " WHERE item_id = $1::{{id}}"};
inline const SqlStatement kRestartItem{
    "restart_item", std::string("UPDATE flash_sale_item SET version = $2::bigint, sequence = 1, quantity = $11::bigint,"
                                " sold = $12::bigint, ") +
                        kDescribed + " WHERE item_id = $1::{{id}}"};
inline const SqlStatement kNextVersion{
    "next_version",
    std::string(
        "WITH before AS (INSERT INTO flash_sale_item_history (item_id, version, quantity, sold, sequence, state, price,"
        " currency, sale_id, ended_at) SELECT item_id, version, quantity, sold, sequence, state, price, currency,"
        " sale_id, to_timestamp($10::bigint / 1000.0) FROM flash_sale_item WHERE item_id = $1::{{id}}"
        " " HOLDFAST_NEWER_HISTORY ")"
        " UPDATE flash_sale_item SET version = $2::bigint, quantity = $11::bigint, sold = 0, sequence = 1, ") +
        kDescribed + " WHERE item_id = $1::{{id}}"};
inline const SqlStatement kDescribeItems{
    "describe_items",
    "UPDATE flash_sale_item i SET sequence = u.sequence, state = u.state, price = u.price, currency = u.currency,"
    " sale_id = u.sale_id, product_id = u.product_id, opens_at = to_timestamp(nullif(u.opens_at, 0) / 1000.0),"
    " closes_at = to_timestamp(nullif(u.closes_at, 0) / 1000.0)"
    " FROM unnest($1::{{id}}[], $2::bigint[], $3::bigint[], $4::text[], $5::bigint[], $6::text[], $7::text[], "
    "$8::text[],"
    " $9::bigint[], $10::bigint[])"
    " AS u(item_id, version, sequence, state, price, currency, sale_id, product_id, opens_at, closes_at)"
    " WHERE i.item_id = u.item_id AND i.version = u.version AND i.sequence <= u.sequence"};

inline const SqlStatement kUpdateOrders{
    "update_orders",
    "UPDATE flash_sale_order o SET status = u.to_status, sequence = u.sequence, lsn = u.lsn,"
    " updated_at = to_timestamp(u.at / 1000.0), exclusive = coalesce(u.exclusive, o.exclusive),"
    " expires_at = CASE WHEN u.sets_expiry THEN to_timestamp(u.expires_at / 1000.0) ELSE o.expires_at END"
    " FROM unnest($1::{{id}}[], $2::bigint[], $3::uuid[], $4::{{id}}[], $5::bigint[], $6::text[], $7::text[], "
    "$8::boolean[],"
    " $9::bigint[], $10::bigint[], $11::bigint[], $12::bigint[], $13::boolean[])"
    " AS u(item_id, version, order_id, user_id, quantity, from_status, to_status, sets_expiry, expires_at, sequence, "
    "lsn, at, exclusive)"
    " WHERE o.item_id = u.item_id AND o.version = u.version AND o.order_id = u.order_id AND o.user_id = u.user_id"
    " AND o.quantity = u.quantity AND o.status = u.from_status AND o.sequence < u.sequence"
    " RETURNING o.item_id::text, o.version"};
inline const SqlStatement kInsertOrders{
    "insert_orders",
    "INSERT INTO flash_sale_order AS o (item_id, version, order_id, user_id, quantity, status, exclusive, price, "
    "currency,"
    " sale_id, sequence, lsn, reserved_at, expires_at, updated_at)"
    " SELECT item_id, version, order_id, user_id, quantity, status, exclusive, price, currency, sale_id, sequence, lsn,"
    " to_timestamp(reserved_at / 1000.0), to_timestamp(expires_at / 1000.0), to_timestamp(at / 1000.0)"
    " FROM unnest($1::{{id}}[], $2::bigint[], $3::uuid[], $4::{{id}}[], $5::bigint[], $6::text[], $7::boolean[],"
    " $8::bigint[], $9::text[], $10::text[], $11::bigint[], $12::bigint[], $13::bigint[], $14::bigint[], $15::bigint[])"
    " AS u(item_id, version, order_id, user_id, quantity, status, exclusive, price, currency, sale_id, sequence, lsn,"
    " reserved_at, expires_at, at)"
    " ON CONFLICT (item_id, version, order_id) DO UPDATE SET user_id = excluded.user_id, quantity = excluded.quantity,"
    " status = excluded.status, exclusive = excluded.exclusive, price = excluded.price, currency = excluded.currency,"
    " sale_id = excluded.sale_id, sequence = excluded.sequence, lsn = excluded.lsn, reserved_at = excluded.reserved_at,"
    " expires_at = excluded.expires_at, updated_at = excluded.updated_at"
    " WHERE o.status IN ('EXPIRED', 'CANCELLED', 'REFUNDED') AND o.sequence < excluded.sequence"
    " RETURNING o.item_id::text, o.version"};
inline const SqlStatement kSumItems{
    "sum_items",
    "UPDATE flash_sale_item i SET quantity = i.quantity + u.stock_delta, sold = i.sold + u.sold_delta,"
    " sequence = greatest(i.sequence, u.sequence), updated_at = to_timestamp(u.at / 1000.0)"
    " FROM unnest($1::{{id}}[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[])"
    " AS u(item_id, version, stock_delta, sold_delta, sequence, at)"
    " WHERE i.item_id = u.item_id AND i.version = u.version"
    " AND i.sold + u.sold_delta BETWEEN 0 AND i.quantity + u.stock_delta RETURNING i.item_id::text, i.version"};

#define HOLDFAST_JOURNAL_ROWS                                                                                        \
  " FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::text[], $6::bigint[], $7::uuid[],"         \
  " $8::text[], $9::bigint[], $10::smallint[], $11::bigint[], $12::text[], $13::bigint[], $14::bigint[],"            \
  " $15::bigint[], $16::bigint[]) AS u(item, version, sequence, lsn, event, at, order_id, user_id, quantity, flags," \
  " expires_at, reason, available, reserved, confirmed, held)"
inline const SqlStatement kWriteJournal{
    "write_journal",
    "INSERT INTO flash_sale_journal (item, version, sequence, lsn, event, at, order_id, user_id, quantity, flags,"
    " expires_at, reason, available, reserved, confirmed, held)"
    " SELECT item, version, sequence, lsn, event, to_timestamp(at / 1000.0), order_id, user_id, quantity, flags,"
    " to_timestamp(expires_at / 1000.0), reason, available, reserved, confirmed, held" HOLDFAST_JOURNAL_ROWS
    " ON CONFLICT DO NOTHING"};
inline const SqlStatement kDifferingJournal{
    "differing_journal",
    "SELECT j.item || ' ' || j.version || ' ' || j.sequence" HOLDFAST_JOURNAL_ROWS
    " JOIN flash_sale_journal j ON j.item = u.item AND j.version = u.version AND j.sequence = u.sequence"
    " WHERE (j.lsn, j.event, j.at, j.order_id, j.user_id, j.quantity, j.flags, j.expires_at, j.reason, j.available,"
    " j.reserved, j.confirmed, j.held)"
    " IS DISTINCT FROM (u.lsn, u.event, to_timestamp(u.at / 1000.0), u.order_id, u.user_id, u.quantity, u.flags,"
    " to_timestamp(u.expires_at / 1000.0), u.reason, u.available, u.reserved, u.confirmed, u.held)"
    " ORDER BY j.lsn LIMIT 1"};
#undef HOLDFAST_JOURNAL_ROWS

}  // namespace holdfast::postgres_statements
