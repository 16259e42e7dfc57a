// Folding in a process of its own, so that neither its memory nor its faults are the server's. A shell: both ends of it.
//
//   server: keeper thread -> FoldProcess::start -> [holdfastd --fold] -> run_fold -> snapshot-LSN
//                         <- its end, its last line on stderr ------------+
#pragma once

#include "server/fold_task.h"
#include "server/poller.h"

namespace holdfast {

/// The whole life of the folding process: as low as it gets in priority for processor, disk and survival, and gone when its
/// parent is. Returns its exit status: 0, or 1 with a line on stderr.
int run_fold(const FoldTask& task);

class FoldProcess {
 public:
  struct Usage {
    std::uint64_t peak_bytes = 0;  // resident
    Millis processor{};
  };

  /// Starts this program's own file. Errors: io_failed.
  static Result<FoldProcess> start(const FoldTask& task);
  /// Kills and reaps it when it still runs.
  ~FoldProcess();
  FoldProcess(FoldProcess&& other) noexcept;
  FoldProcess& operator=(FoldProcess&&) = delete;

  /// Returns when it has ended. An error has its words. `stop`: when this descriptor becomes readable it is killed.
  Result<Usage> wait(int stop);

 private:
  FoldProcess(int pid, FileDescriptor output) noexcept : pid_(pid), output_(std::move(output)) {}
  int pid_ = -1;
  FileDescriptor output_;
};

}  // namespace holdfast
