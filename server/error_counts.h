// How many error replies of each code were given, for INFO errorstats. One thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast {

class ErrorCounts {
 public:
  struct Count {
    std::string code;  // the reply's first word
    std::uint64_t count;
  };

  /// Counts a reply "-CODE ...". REQUIRES: it begins with '-'.
  void add(std::string_view reply);
  const std::vector<Count>& counts() const noexcept { return counts_; }
  void clear() noexcept { counts_.clear(); }

 private:
  std::vector<Count> counts_;  // in the order of their first appearance
};

}  // namespace holdfast
