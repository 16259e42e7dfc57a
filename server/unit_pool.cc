#include "server/unit_pool.h"

#include "protocol/check.h"

#include <cstring>

namespace holdfast {

UnitPool::UnitPool(std::uint32_t unit_bytes) : unit_bytes_(unit_bytes), free_(kPageUnits + 1, kNone) {
  CHECK(unit_bytes >= sizeof(Handle) && unit_bytes % sizeof(Handle) == 0);
}

UnitPool::Handle UnitPool::allocate(std::uint32_t units) {
  CHECK(units > 0 && units <= kPageUnits);
  if (const Handle handle = free_[units]; handle != kNone) {
    std::memcpy(&free_[units], at(handle), sizeof(Handle));
    return handle;
  }
  if (used_units_ + units > kPageUnits) add_page();
  const auto handle = static_cast<Handle>((pages_.size() - 1) * kPageUnits + used_units_);
  used_units_ += units;
  return handle;
}

void UnitPool::release(Handle handle, std::uint32_t units) {
  CHECK(units > 0 && units <= kPageUnits && handle / kPageUnits < pages_.size());
  std::memcpy(at(handle), &free_[units], sizeof(Handle));
  free_[units] = handle;
}

void UnitPool::add_page() {
  CHECK(pages_.size() < kNone / kPageUnits);
  if (used_units_ < kPageUnits) {
    release(static_cast<Handle>((pages_.size() - 1) * kPageUnits + used_units_), kPageUnits - used_units_);
  }
  pages_.push_back(std::make_unique_for_overwrite<std::byte[]>(std::size_t{kPageUnits} * unit_bytes_));
  used_units_ = 0;
}

}  // namespace holdfast
