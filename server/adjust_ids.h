// The ids of an item version's newest 10,000 ADJUSTs with their deltas: a name space of its own. One thread at a time.
#pragma once

#include "protocol/names.h"

#include <boost/unordered/unordered_flat_map.hpp>

#include <deque>
#include <optional>

namespace holdfast {

class AdjustIds {
 public:
  static constexpr std::size_t kKept = 10'000;

  /// The delta that came with this id, while it is remembered.
  std::optional<std::int64_t> find(const ReservationId& id) const;
  /// REQUIRES: the id is not remembered.
  void add(const ReservationId& id, std::int64_t delta);
  /// Calls `on_id(id, delta)` for each, oldest first; stops with the first error and answers it.
  template <class OnId>
  Result<void> for_each(OnId on_id) const {
    for (const ReservationId& id : order_) HOLDFAST_TRY(on_id(id, deltas_.at(id)));
    return {};
  }

 private:
  struct Hash {
    std::size_t operator()(const ReservationId& id) const noexcept;
  };
  boost::unordered_flat_map<ReservationId, std::int64_t, Hash> deltas_;
  std::deque<ReservationId> order_;  // oldest first
};

}  // namespace holdfast
