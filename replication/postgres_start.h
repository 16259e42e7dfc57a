// How the tables begin with the state of a snapshot, and what becomes of those that are there. Blocking; one thread. All calls
// belong to the connection's open transaction; errors are those of PostgresConnection.
#pragma once

#include "replication/postgres_batch.h"

namespace holdfast {

/// By how much people changed `quantity` of item versions: by outside id and version.
using QuantityDifferences = std::map<std::pair<std::string, ItemVersion>, std::int64_t>;

/// What put_aside() did.
struct PutAside {
  std::string schema;  // where the tables' copies are
  QuantityDifferences differences;
};

/// Copies the sink's tables into a schema that is named after `epoch` and empties them. Rows of flash_sale_item stay, with
/// nothing sold and no version. Needs the rights of their owner, and to make schemas.
Result<PutAside> put_aside(PostgresConnection& connection, Epoch epoch);

/// Writes a start state into empty tables. Quantities get their differences back.
class PostgresStart final : public StartVisitor {
 public:
  PostgresStart(PostgresBatch& batch, PostgresTables& tables, const KnownItems& known, QuantityDifferences differences,
                WallTime at)
      : batch_(batch), tables_(tables), known_(known), differences_(std::move(differences)), at_(at) {}

  Result<void> on_item(const StartItem& item) override;
  Result<void> on_orders(const StartItem& item, std::span<const OrderChange> orders) override;
  std::uint64_t items() const noexcept { return items_; }
  std::uint64_t orders() const noexcept { return orders_; }

 private:
  PostgresBatch& batch_;
  PostgresTables& tables_;
  const KnownItems& known_;
  QuantityDifferences differences_;
  WallTime at_;
  std::uint64_t items_ = 0;
  std::uint64_t orders_ = 0;
};

}  // namespace holdfast
