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

}  // namespace holdfast
