// The memory of the cells of all indexes of one shard: blocks of 1..kUnitsMax units, named by 32-bit handles.
//
// Indexes grow in waves, so that the sizes in demand change all the time; free lists by size would end up as large as
// the indexes. Here each size has pages of its own, and a released block is filled with the last one of its size: there
// are no holes, and a page that has become empty serves any size. Each block therefore knows where its handle is kept:
//
//   | address of the handle, 8 bytes | cells, units x 20 bytes |
//
// One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace holdfast {

class CellPool {
 public:
  using Handle = std::uint32_t;
  static constexpr std::uint32_t kUnitBytes = 20;
  static constexpr std::uint32_t kPageBytes = 65536;
  static constexpr std::uint32_t kUnitsMax = (kPageBytes - sizeof(void*)) / kUnitBytes;

  /// Puts a block of 1..kUnitsMax units with undefined content into `handle`. Until it is released `handle` stays where
  /// it is; it changes when another block of the size is released.
  void allocate(std::uint32_t units, Handle& handle);
  /// Gives a block back, with any other one of its size moving. REQUIRES: `units` as it was allocated.
  void release(Handle handle, std::uint32_t units);
  /// Valid until a block of this size is released.
  std::byte* at(Handle handle) noexcept { return block(handle) + sizeof(Handle*); }
  const std::byte* at(Handle handle) const noexcept { return block(handle) + sizeof(Handle*); }
  /// Memory taken from the system.
  std::size_t bytes() const noexcept { return pages_.size() * kPageBytes; }

 private:
  static constexpr std::uint32_t kGranuleBytes = 4;  // handles count in these
  static constexpr std::uint32_t kPageGranules = kPageBytes / kGranuleBytes;

  /// The blocks of one size: all pages but the last are full.
  struct Size {
    std::vector<std::uint32_t> pages;
    std::uint32_t in_last = 0;
  };

  static constexpr std::uint32_t block_bytes(std::uint32_t units) noexcept {
    return sizeof(Handle*) + units * kUnitBytes;
  }
  std::byte* block(Handle handle) const noexcept {
    return pages_[handle / kPageGranules].get() + std::size_t{handle % kPageGranules} * kGranuleBytes;
  }
  Handle last_of(const Size& size, std::uint32_t units) const noexcept;
  std::uint32_t empty_page();

  std::vector<std::unique_ptr<std::byte[]>> pages_;
  std::vector<std::uint32_t> empty_;  // pages of no size
  std::vector<Size> sizes_;           // by units
};

}  // namespace holdfast
