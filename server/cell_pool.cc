#include "server/cell_pool.h"

#include "protocol/check.h"

#include <cstring>

namespace holdfast {

void CellPool::allocate(std::uint32_t units, Handle& handle) {
  CHECK(units > 0 && units <= kUnitsMax);
  if (units >= sizes_.size()) sizes_.resize(units + 1);
  Size& size = sizes_[units];
  if (size.pages.empty() || size.in_last == kPageBytes / block_bytes(units)) {
    size.pages.push_back(empty_page());
    size.in_last = 0;
  }
  ++size.in_last;
  handle = last_of(size, units);
  Handle* const owner = &handle;
  std::memcpy(block(handle), &owner, sizeof(owner));
}

void CellPool::release(Handle handle, std::uint32_t units) {
  CHECK(units > 0 && units < sizes_.size() && !sizes_[units].pages.empty());
  Size& size = sizes_[units];
  const Handle last = last_of(size, units);
  if (handle != last) {
    std::memcpy(block(handle), block(last), block_bytes(units));
    Handle* owner = nullptr;
    std::memcpy(&owner, block(last), sizeof(owner));
    CHECK(*owner == last);
    *owner = handle;
  }
  if (--size.in_last > 0) return;
  empty_.push_back(size.pages.back());
  size.pages.pop_back();
  size.in_last = kPageBytes / block_bytes(units);
}

CellPool::Handle CellPool::last_of(const Size& size, std::uint32_t units) const noexcept {
  return size.pages.back() * kPageGranules + (size.in_last - 1) * block_bytes(units) / kGranuleBytes;
}

std::uint32_t CellPool::empty_page() {
  if (empty_.empty()) {
    CHECK(pages_.size() < UINT32_MAX / kPageGranules);
    pages_.push_back(std::make_unique_for_overwrite<std::byte[]>(kPageBytes));
    return static_cast<std::uint32_t>(pages_.size() - 1);
  }
  const std::uint32_t page = empty_.back();
  empty_.pop_back();
  return page;
}

}  // namespace holdfast
