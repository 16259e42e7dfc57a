// The statement that notes what people and tools changed in the tables, and why. Constants.
#pragma once

#include "replication/postgres_connection.h"

namespace holdfast {

/// Parameters: action, item (outside text), version, key, before and after as JSON (empty: NULL), note.
inline const SqlStatement kAudit{"audit",
                                 "INSERT INTO holdfast_audit (action, item, version, key, before, after, note)"
                                 " VALUES ($1, $2, $3::bigint, $4, nullif($5, '')::jsonb, nullif($6, '')::jsonb, $7)"};

}  // namespace holdfast
