// How many connections each address has. One thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace holdfast {

class AddressCounts {
 public:
  std::uint32_t of(std::string_view host) const {
    const auto found = counts_.find(host);
    return found == counts_.end() ? 0 : found->second;
  }
  void add(std::string_view host) { ++counts_[std::string(host)]; }
  /// REQUIRES: it was added.
  void remove(std::string_view host) {
    const auto found = counts_.find(host);
    if (--found->second == 0) counts_.erase(found);
  }

 private:
  std::map<std::string, std::uint32_t, std::less<>> counts_;
};

}  // namespace holdfast
