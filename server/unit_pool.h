// Small blocks of memory named by 32-bit handles: the longer user names of one shard, and what it knows of
// users with several reservations.
//
// Blocks are whole numbers of units, cut from pages that are never moved and never given back to the system; a freed
// block waits in the list of its size. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace holdfast {

class UnitPool {
 public:
  using Handle = std::uint32_t;
  static constexpr std::uint32_t kPageUnits = 4096;  // the largest block, too

  /// `unit_bytes`: a multiple of 4, at least 4.
  explicit UnitPool(std::uint32_t unit_bytes);

  /// A block of 1..kPageUnits units with undefined content.
  Handle allocate(std::uint32_t units);
  /// Gives a block back. REQUIRES: `units` as it was allocated.
  void release(Handle handle, std::uint32_t units);
  std::byte* at(Handle handle) noexcept { return pages_[handle / kPageUnits].get() + offset(handle); }
  const std::byte* at(Handle handle) const noexcept { return pages_[handle / kPageUnits].get() + offset(handle); }
  /// Memory taken from the system.
  std::size_t bytes() const noexcept { return pages_.size() * kPageUnits * unit_bytes_; }

 private:
  static constexpr Handle kNone = UINT32_MAX;

  std::size_t offset(Handle handle) const noexcept { return std::size_t{handle % kPageUnits} * unit_bytes_; }
  void add_page();

  std::uint32_t unit_bytes_;
  std::uint32_t used_units_ = kPageUnits;  // of the last page
  std::vector<std::unique_ptr<std::byte[]>> pages_;
  std::vector<Handle> free_;  // by size in units: the first free block, which names the next
};

}  // namespace holdfast
