// Observations in unnamed files, in parts: all of one reservation are in one part, and a part fits into memory. One thread.
#pragma once

#include "replication/limits.h"
#include "replication/observation.h"

#include <array>
#include <cstdio>
#include <memory>

namespace holdfast {

class ObservationSpill {
 public:
  /// In the system's folder for temporary files (TMPDIR). Errors: io_failed, no_space.
  static Result<ObservationSpill> make();

  Result<void> add(const Observation& observation);
  /// Those of a part, in no order. REQUIRES: part < kReconcileParts; nothing is added afterwards.
  Result<std::vector<Observation>> take(std::size_t part);

 private:
  struct Close {
    void operator()(std::FILE* file) const noexcept { std::fclose(file); }
  };
  std::array<std::unique_ptr<std::FILE, Close>, kReconcileParts> files_;
};

}  // namespace holdfast
