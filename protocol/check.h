// Programmer errors stop the process. CHECK stays on in release builds and prints what was violated; DCHECK is
// for what costs more than O(1). Neither is ever used on input from outside.
#pragma once

namespace holdfast {

/// Prints "file:line: CHECK(expression) failed" to stderr and aborts. Any thread.
[[noreturn]] void check_failed(const char* file, int line, const char* expression) noexcept;

}  // namespace holdfast

#define CHECK(condition)                                                    \
  (__builtin_expect(static_cast<bool>(condition), 1) ? static_cast<void>(0) \
                                                     : ::holdfast::check_failed(__FILE__, __LINE__, #condition))

#ifdef NDEBUG
#define DCHECK(condition) static_cast<void>(sizeof(static_cast<bool>(condition)))  // compiled, not evaluated
#else
#define DCHECK(condition) CHECK(condition)
#endif
