// What a process that folds a snapshot is told (fold_process.h). A value.
#pragma once

#include "protocol/types.h"

#include <string>

namespace holdfast {

/// It stands on its command line.
struct FoldTask {
  std::string directory;
  Lsn through;
  std::uint64_t memory_bytes = 0;  // it may have at most; 0: as much as there is
  long parent = 0;                 // the process that waits for it
  bool hurries = false;            // snapshots fall behind: it does not yield to others
};

}  // namespace holdfast
