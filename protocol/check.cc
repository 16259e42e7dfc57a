#include "protocol/check.h"

#include <cstdio>
#include <cstdlib>

namespace holdfast {

void check_failed(const char* file, int line, const char* expression) noexcept {
  std::fprintf(stderr, "%s:%d: CHECK(%s) failed\n", file, line, expression);
  std::abort();
}

}  // namespace holdfast
