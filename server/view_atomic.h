// What views and their filters are made of: std::atomic, or, in the tests of interleavings, a type of theirs that lets
// other tasks run before every access. Any thread.
#pragma once

#include <atomic>

#ifdef HOLDFAST_VIEW_ATOMIC
#include HOLDFAST_VIEW_ATOMIC
#else
namespace holdfast {
template <class T>
using ViewAtomic = std::atomic<T>;
}  // namespace holdfast
#endif
