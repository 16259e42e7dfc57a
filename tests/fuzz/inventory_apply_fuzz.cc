// What an inventory makes of records nobody trusts (libFuzzer).
#include "tests/fuzz/record_noise.h"

#include <cstddef>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  holdfast::fuzz::run_record_noise({data, size});
  return 0;
}
