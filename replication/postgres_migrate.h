// Brings a database to the schema that this version writes, and tells whether it is there. Blocking; any thread.
#pragma once

#include "replication/migrations.h"
#include "replication/postgres_connection.h"

namespace holdfast {

/// What migrate() did.
struct MigrationReport {
  int before = 0;  // version of the schema, 0: none
  int after = 0;
  OutsideIds ids{};
};

/// Applies the steps that are missing, all or none, one process at a time. `ids` must be what the first step was applied
/// with; none: that, or text. Errors: bad_option for other ids; unsupported for a schema newer than this program; those
/// of PostgresConnection.
Result<MigrationReport> migrate(PostgresConnection& connection, std::optional<OutsideIds> ids,
                                std::span<const Migration> steps = migrations());

/// The ids of the schema. An error, `unsupported`, says what to do when it is not this version's. REQUIRES: begun.
Result<OutsideIds> check_version(PostgresConnection& connection);
/// The same for who is to write: also an error when its user may not write it, or when a constraint is gone.
Result<OutsideIds> check_schema(PostgresConnection& connection);

}  // namespace holdfast
