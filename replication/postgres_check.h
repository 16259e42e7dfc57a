// Whether the tables take what the sink writes, as far as that can be known before something is written: columns that are
// missing or of another type, and columns of somebody else's that want a value. Blocking; one thread.
#pragma once

#include "replication/outside_id.h"
#include "replication/postgres_connection.h"

namespace holdfast {

/// `existing_items`: rows of flash_sale_item are people's, who know their columns. Errors: `unsupported`, saying which
/// column and why; those of PostgresConnection. REQUIRES: begun; rights and version were checked (postgres_migrate.h).
Result<void> check_columns(PostgresConnection& connection, OutsideIds ids, bool existing_items);

}  // namespace holdfast
