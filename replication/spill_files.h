// Unnamed temporary files, one for each of kReconcileParts parts of what does not fit into memory. One thread.
#pragma once

#include "protocol/error.h"
#include "replication/limits.h"

#include <array>
#include <cstddef>
#include <cstdio>
#include <memory>
#include <span>

namespace holdfast {

class SpillFiles {
 public:
  /// In the system's folder for temporary files (TMPDIR). Errors of all calls: io_failed, no_space.
  static Result<SpillFiles> make();

  // REQUIRES of all: part < kReconcileParts, and that it was not dropped.
  /// REQUIRES: it was not rewound.
  Result<void> write(std::size_t part, std::span<const std::byte> bytes);
  /// What comes next is read, from the beginning on.
  Result<void> rewind(std::size_t part);
  /// The next bytes; false where there are no more.
  Result<bool> read(std::size_t part, std::span<std::byte> bytes);
  /// Its room is free again.
  void drop(std::size_t part);

 private:
  struct Close {
    void operator()(std::FILE* file) const noexcept { std::fclose(file); }
  };
  std::array<std::unique_ptr<std::FILE, Close>, kReconcileParts> files_;
};

}  // namespace holdfast
