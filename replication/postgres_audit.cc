#include "replication/postgres_audit.h"

#include "replication/sql_rows.h"

namespace holdfast {
namespace {

const SqlStatement kHold{"hold_relay", "SELECT sink FROM holdfast_cursor ORDER BY sink FOR UPDATE"};
const SqlStatement kNote{
    "note_audit",
    "INSERT INTO holdfast_audit (action, item, version, key, before, after, note)"
    " SELECT action, item, version, key, nullif(before, '')::jsonb, nullif(after, '')::jsonb, note"
    " FROM unnest($1::text[], $2::text[], $3::bigint[], $4::text[], $5::text[], $6::text[], $7::text[])"
    " AS u(action, item, version, key, before, after, note)"};

}  // namespace

Result<void> hold_relay(PostgresConnection& connection) {
  HOLDFAST_TRY(connection.run(kHold, {}));
  return {};
}

Result<void> note_audit(PostgresConnection& connection, std::span<const AuditNote> notes) {
  if (notes.empty()) return {};
  SqlRows<7> rows;
  for (const AuditNote& note : notes)
    rows.add(note.action, note.item, note.version, note.key, note.before, note.after, note.note);
  HOLDFAST_TRY(connection.run(kNote, rows.parameters()));
  return {};
}

}  // namespace holdfast
