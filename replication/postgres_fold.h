// A fold as rows: all of it, or nothing and why not. Blocking; one thread. Calls belong to the connection's open
// transaction; errors are those of PostgresConnection.
#pragma once

#include "replication/parked_chain.h"
#include "replication/postgres_tables.h"

#include <set>

namespace holdfast {

/// What came of trying a fold.
struct Trial {
  std::set<ItemNumber> unfit;  // items whose rows did not match; nothing was written then
  Refusal refusal;             // of the first of them
  bool vague = false;          // it may have been any of `unfit`: the database did not say
  bool fits() const noexcept { return unfit.empty(); }
};

class PostgresFold {
 public:
  PostgresFold(PostgresConnection& connection, PostgresTables& tables) : connection_(connection), tables_(tables) {}

  /// `known`: of all its items.
  Result<Trial> write(const OrderFold& fold, const KnownItems& known);
  /// Makes, takes over or describes anew an item's row. What the database says against it; empty: it is there.
  Result<std::string> load(RowOfLoad how, const KnownItem& item, const Event& event);
  /// Why nothing of the item can be written, whatever it is; nothing when its row is as it must be.
  static std::optional<Refusal> why_no_row(const ItemRow& row, const KnownItem& item);

 private:
  Result<Trial> try_rows(const OrderFold& fold, const KnownItems& known);
  Result<Refusal> why_no_sum(const KnownItem& item);

  PostgresConnection& connection_;
  PostgresTables& tables_;
};

}  // namespace holdfast
