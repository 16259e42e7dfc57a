// When items that something keeps out of the tables are tried again: what failed, later each time, and a few at once, so that
// they cost the others nothing. Deterministic: time comes in. One thread.
#pragma once

#include "replication/known_items.h"

#include <map>

namespace holdfast {

class ClaimPlan {
 public:
  /// Those of `waiting` that are due; who has waited longest comes first. Forgets all others that are not in `waiting`.
  std::vector<const KnownItem*> due(std::vector<const KnownItem*> waiting, Millis now);
  /// It is kept out still.
  void failed(ItemNumber number, Millis now);
  /// It has its row: so what keeps others out may have gone, too, and all are due.
  void succeeded() { waits_.clear(); }

 private:
  struct Wait {
    Millis until{0};
    Millis delay{0};
  };
  Millis due_at(ItemNumber number) const;

  std::map<ItemNumber, Wait> waits_;  // of those that failed
};

}  // namespace holdfast
