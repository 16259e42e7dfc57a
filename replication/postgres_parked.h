// The SQL of table holdfast_parked. Decides nothing. Blocking; one thread. All calls belong to the connection's open
// transaction; errors are those of PostgresConnection.
#pragma once

#include "replication/event_sink.h"
#include "replication/known_items.h"
#include "replication/parked_chain.h"
#include "replication/postgres_connection.h"

#include <set>

namespace holdfast {

/// What names a chain: its item and its key.
using ChainName = std::pair<ItemNumber, std::string>;

/// Those of the chains that are parked.
Result<std::vector<ParkedChain>> load_chains(PostgresConnection& connection, std::span<const ChainName> names);
/// Writes them as they are now.
Result<void> save_chains(PostgresConnection& connection, std::span<const ParkedChain* const> chains,
                         const KnownItems& known);

/// Items of which something is parked.
Result<std::set<ItemNumber>> parked_items(PostgresConnection& connection);

/// What the server has not been told; and that it has been.
Result<std::vector<ParkNotice>> untold_notices(PostgresConnection& connection, std::size_t notices_max);
Result<void> note_told(PostgresConnection& connection, const std::vector<ParkNotice>& notices);

/// Whether it may be done: the right to delete is not among those that the relay needs.
Result<bool> may_forget_parked(PostgresConnection& connection);
/// Removes at most `rows_max` rows of what ended before `before`, of which the server need not be told any more, and which
/// reconcile does not ask for: their item's version has ended, or their order has its row. How many went.
Result<std::uint64_t> forget_parked(PostgresConnection& connection, WallTime before, std::size_t rows_max);

}  // namespace holdfast
