// Which items are asked for most, of any number of items, in a table of fixed size: the one that was counted least gives
// way to one that is not in the table, which inherits its count (the Space-Saving algorithm of Metwally, Agrawal and
// El Abbadi, 2005). No I/O; the owner's thread.
#pragma once

#include "protocol/types.h"

#include <array>
#include <cstddef>
#include <vector>

namespace holdfast {

class BusyItems {
 public:
  /// Items it looks at; those whose share of the commands is above 1 / kPlaces are among them.
  static constexpr std::size_t kPlaces = 64;
  struct Place {
    std::uint32_t index = 0;  // of the item in its inventory
    ItemNumber item;          // none: free
    std::uint64_t count = 0;
  };

  /// `times` commands for this item. Looks at kPlaces places at most, and first at where the item was last time.
  void note(std::uint32_t index, ItemNumber item, std::uint64_t times) noexcept;
  /// The places in use, the most asked for first.
  std::vector<Place> ranking() const;

 private:
  void age() noexcept;

  std::array<Place, kPlaces> places_{};
  std::size_t last_ = 0;
  std::uint64_t noted_ = 0;
};

}  // namespace holdfast
