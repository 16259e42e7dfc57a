// How the tables begin with the state of a snapshot, and what becomes of those that are there. Blocking; one thread. All calls
// belong to the connection's open transaction; errors are those of PostgresConnection.
#pragma once

#include "replication/postgres_batch.h"

namespace holdfast {

/// What put_aside() did.
struct PutAside {
  std::string schema;  // where the tables' copies are
  KeptRows kept;
};

/// Copies the sink's tables into a schema that is named after `epoch` and empties them, but for the history, which gets the
/// totals of every row of flash_sale_item. These rows stay as version 0, DROPPED, with what was sold before they were taken
/// over: those that are items' again begin with that. Needs the rights of their owner, and to make schemas.
Result<PutAside> put_aside(PostgresConnection& connection, Epoch epoch);
/// Afterwards: versions that go on are no history. `schema`: where the copies are.
Result<void> finish_history(PostgresConnection& connection, const std::string& schema);

/// Writes a start state into empty tables.
class PostgresStart final : public StartVisitor {
 public:
  PostgresStart(PostgresBatch& batch, WallTime at) : batch_(batch), at_(at) {}

  Result<void> on_item(const StartItem& item) override;
  Result<void> on_orders(const StartItem& item, std::span<const OrderChange> orders) override;
  std::uint64_t items() const noexcept { return items_; }
  std::uint64_t orders() const noexcept { return orders_; }

 private:
  PostgresBatch& batch_;
  WallTime at_;
  std::uint64_t items_ = 0;
  std::uint64_t orders_ = 0;
};

}  // namespace holdfast
