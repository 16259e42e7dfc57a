#include "server/busy_items.h"

#include <algorithm>

namespace holdfast {
namespace {

/// After so many commands all counts are halved, so that yesterday's sale gives way to today's.
constexpr std::uint64_t kAgeEvery = std::uint64_t{1} << 20;

}  // namespace

void BusyItems::note(std::uint32_t index, ItemNumber item, std::uint64_t times) noexcept {
  if (places_[last_].item != item) {
    std::size_t least = 0, at = 0;
    for (; at < kPlaces && places_[at].item != item; ++at) {
      if (places_[at].count < places_[least].count) least = at;
    }
    last_ = at < kPlaces ? at : least;
  }
  places_[last_].index = index;
  places_[last_].item = item;
  places_[last_].count += times;
  noted_ += times;
  if (noted_ >= kAgeEvery) age();
}

void BusyItems::age() noexcept {
  noted_ = 0;
  for (Place& place : places_) place.count /= 2;
}

std::vector<BusyItems::Place> BusyItems::ranking() const {
  std::vector<Place> places;
  std::copy_if(places_.begin(), places_.end(), std::back_inserter(places),
               [](const Place& place) { return place.item != ItemNumber(); });
  std::sort(places.begin(), places.end(), [](const Place& a, const Place& b) { return a.count > b.count; });
  return places;
}

}  // namespace holdfast
