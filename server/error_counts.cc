#include "server/error_counts.h"

#include "protocol/check.h"
#include "server/limits.h"

#include <algorithm>

namespace holdfast {

void ErrorCounts::add(std::string_view reply) {
  CHECK(!reply.empty() && reply.front() == '-');
  const std::string_view code = reply.substr(1, reply.find_first_of(" \r", 1) - 1);
  const auto is_code = [&](const Count& known) { return known.code == code; };
  auto found = std::find_if(counts_.begin(), counts_.end(), is_code);
  if (found == counts_.end()) {
    if (counts_.size() >= kErrorCodesMax || code.size() > kErrorCodeBytesMax) return;
    found = counts_.insert(counts_.end(), Count{std::string(code), 0});
  }
  ++found->count;
}

}  // namespace holdfast
