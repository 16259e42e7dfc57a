#include "server/adjust_ids.h"

#include "protocol/check.h"

namespace holdfast {

std::optional<std::int64_t> AdjustIds::find(const ReservationId& id) const {
  const auto found = deltas_.find(id);
  return found == deltas_.end() ? std::nullopt : std::optional(found->second);
}

void AdjustIds::add(const ReservationId& id, std::int64_t delta) {
  CHECK(deltas_.emplace(id, delta).second);
  order_.push_back(id);
  if (order_.size() <= kKept) return;
  deltas_.erase(order_.front());
  order_.pop_front();
}

/// Loaders are trusted and at most 10,000 ids are kept, so the bits need no secret; the map mixes them.
std::size_t AdjustIds::Hash::operator()(const ReservationId& id) const noexcept {
  std::uint64_t high;
  std::uint64_t low;
  std::memcpy(&high, id.bytes().data(), sizeof(high));
  std::memcpy(&low, id.bytes().data() + sizeof(high), sizeof(low));
  return high * 0x9e3779b97f4a7c15U ^ low;
}

}  // namespace holdfast
