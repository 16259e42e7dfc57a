// What the operating system says of this process. A shell around /proc; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace holdfast {

struct ProcessFigures {
  struct ThreadCpu {
    std::string name;
    double seconds = 0;
  };

  double start_time_seconds = 0;  // Unix time
  double cpu_seconds = 0;
  std::uint64_t resident_bytes = 0;
  std::uint64_t virtual_bytes = 0;
  std::uint64_t open_fds = 0;
  std::uint64_t max_fds = 0;
  std::vector<ThreadCpu> threads;  // those of one name together
};

/// Numbers that cannot be read are 0.
ProcessFigures read_process_figures();
/// Gives the calling thread the name under which it is shown; at most 15 bytes.
void name_thread(const char* name) noexcept;

}  // namespace holdfast
