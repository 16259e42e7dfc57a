// Any bytes, any split: the parser finds the same requests and the same error. The first bytes choose where to cut.
#include "protocol/check.h"
#include "tests/unit/protocol/resp_trace.h"

#include <algorithm>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace holdfast;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::string_view cuts = input.substr(0, std::min<std::size_t>(size, 8));
  const std::string_view bytes = input.substr(cuts.size());
  RespTrace whole, pieces;
  whole.feed(bytes);
  std::size_t at = 0;
  for (std::size_t i = 0; at < bytes.size(); ++i) {
    const std::size_t length = 1 + static_cast<unsigned char>(cuts[i % cuts.size()]) % 64U;
    pieces.feed(bytes.substr(at, length));
    at += length;
  }
  CHECK(whole.text() == pieces.text());
  CHECK(whole.pending() == pieces.pending());
  return 0;
}
