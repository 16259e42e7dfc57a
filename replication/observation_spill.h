// Observations in unnamed files, in parts: all of one reservation are in one part, and a part fits into memory. One thread.
#pragma once

#include "replication/observation.h"
#include "replication/spill_files.h"

namespace holdfast {

class ObservationSpill {
 public:
  /// Errors of all calls: SpillFiles'.
  static Result<ObservationSpill> make();

  Result<void> add(const Observation& observation);
  /// Those of a part, in no order. REQUIRES: part < kReconcileParts; nothing is added afterwards.
  Result<std::vector<Observation>> take(std::size_t part);

 private:
  explicit ObservationSpill(SpillFiles files) : files_(std::move(files)) {}

  SpillFiles files_;
};

}  // namespace holdfast
