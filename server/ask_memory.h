// Asking the memory for what will be read a little later. Any thread.
#pragma once

namespace holdfast {

inline void ask_memory(const void* address) noexcept {
  __builtin_prefetch(address);
  asm volatile("");  // else GCC 12 takes functions that only do this for ones that do nothing, and drops their calls
}

}  // namespace holdfast
