// Work that goes in one piece as long as all of it goes: what does not is found by halves, in its order. Any thread.
#pragma once

#include "protocol/check.h"
#include "protocol/error.h"

#include <algorithm>

namespace holdfast {

/// What came of an attempt.
struct Attempt {
  std::size_t done = 0;  // of what was offered, from its beginning; 0: it does not go in one piece, nothing was changed
  bool more = true;      // false: this was what does not go
};

/// Calls `attempt(begin, count)`, a Result<Attempt>, until all of `size` is done. REQUIRES: an attempt of 1 is done.
template <class Try>
Result<void> by_halves(std::size_t size, const Try& attempt) {
  std::size_t at_once = size;
  std::size_t wall = 0;  // what stands before it did not go in one piece; no more than begin: nothing is known
  for (std::size_t begin = 0; begin < size;) {
    const bool walled = wall > begin;
    const std::size_t count = std::min(at_once, (walled ? wall : size) - begin);
    const Result<Attempt> made = attempt(begin, count);
    if (!made) return made.error();
    CHECK(made->done <= count && (made->done > 0 || count > 1));
    begin += made->done;
    if (made->done == 0) {
      wall = begin + count;
      at_once = count / 2;
    } else if (!made->more) {
      wall = 0;
      at_once = 1;
    } else {
      at_once = walled && wall > begin ? std::max<std::size_t>((wall - begin) / 2, 1) : 2 * count;
    }
  }
  return {};
}

}  // namespace holdfast
