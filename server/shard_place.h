// Which shard of how many, and what follows from it: cursors over the items of all shards. A value; any thread.
#pragma once

#include "protocol/types.h"

namespace holdfast {

/// A cursor over the items of all shards is position * count + shard; 0 is where the first shard begins, and the end.
/// Any number is one, so that a cursor from before a restart with another number of shards goes on somewhere and ends.
struct ShardPlace {
  ShardIndex index;
  std::uint16_t count = 1;

  std::uint64_t position(std::uint64_t cursor) const noexcept { return cursor / count; }
  /// The cursor that goes on at this position, or at the next shard when this one ends there.
  /// REQUIRES: positions are below 2^48.
  std::uint64_t cursor(std::uint64_t position, std::uint64_t end) const noexcept {
    if (position < end) return position * count + index.value();
    return (index.value() + 1U) % count;
  }
};

}  // namespace holdfast
