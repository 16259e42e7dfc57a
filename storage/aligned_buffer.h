// Memory aligned for direct I/O, which only grows. One thread.
#pragma once

#include "storage/file_system.h"

#include <cstdlib>
#include <new>

namespace holdfast {

class AlignedBuffer {
 public:
  /// At least so many bytes, rounded up to blocks; what it held is lost when it has to grow.
  std::span<std::byte> reserve(std::size_t bytes) {
    const std::size_t rounded = (bytes + kBlockBytes - 1) / kBlockBytes * kBlockBytes;
    if (rounded > size_) {
      memory_.reset(static_cast<std::byte*>(::operator new(rounded, std::align_val_t(kBlockBytes))));
      size_ = rounded;
    }
    return {memory_.get(), size_};
  }
  std::span<std::byte> bytes() const noexcept { return {memory_.get(), size_}; }

 private:
  struct Free {
    void operator()(std::byte* memory) const noexcept { ::operator delete(memory, std::align_val_t(kBlockBytes)); }
  };
  std::unique_ptr<std::byte, Free> memory_;
  std::size_t size_ = 0;
};

}  // namespace holdfast
