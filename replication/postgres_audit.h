// For those who change the tables beside the relay: how they make it wait, and how they note what they changed and why.
// Blocking; one thread. Calls belong to the connection's open transaction; errors are those of PostgresConnection.
#pragma once

#include "replication/postgres_connection.h"

#include <span>

namespace holdfast {

/// Every relay waits until the transaction ends.
Result<void> hold_relay(PostgresConnection& connection);

/// A row of holdfast_audit.
struct AuditNote {
  std::string action;
  std::string item;  // outside text
  std::uint64_t version = 0;
  std::string key;
  std::string before;  // JSON of the row; empty: there was none, or it is not told
  std::string after;
  std::string note;
};
Result<void> note_audit(PostgresConnection& connection, std::span<const AuditNote> notes);

}  // namespace holdfast
