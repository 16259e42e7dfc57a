// Which shard executes a command: the owner of its item, all of them, the one a cursor points to, or several for
// commands of several keys (gather.h). Constant once it is made; any thread.
#pragma once

#include "protocol/command_table.h"
#include "protocol/names.h"

#include <array>

namespace holdfast {

/// Where a command goes.
struct Route {
  enum class Kind : std::uint8_t {
    one,      // `shard` executes it
    all,      // every shard does
    several,  // its keys have different owners
  };
  Kind kind = Kind::one;
  ShardIndex shard;
  bool operator==(const Route&) const noexcept = default;
};

class Router {
 public:
  /// Redis Cluster's slots, which are dealt to the shards in order.
  static constexpr std::uint32_t kSlots = 16384;

  /// `count`: of shards. REQUIRES: 1..kSlots.
  explicit Router(std::uint16_t count);

  std::uint16_t count() const noexcept { return count_; }
  ShardIndex owner(ItemName item) const noexcept {
    return ShardIndex(static_cast<std::uint16_t>(std::uint32_t{item.slot()} * count_ / kSlots));
  }
  /// The owner of what an argument names, an item or, with `view`, a key of the Redis view. The first shard for what
  /// names none: its step says so.
  ShardIndex owner_of(std::string_view argument, bool view) const;
  /// The shard that a cursor of ITEM LIST, SCAN or the first notices goes on at (shard_place.h).
  ShardIndex owner_of_cursor(std::uint64_t cursor) const noexcept {
    return ShardIndex(static_cast<std::uint16_t>(cursor % count_));
  }

  /// For all that sessions forward: commands whose home is the step, and the messages of WATCH, EXEC and SUBSCRIBE,
  /// whose second word is an item (none: any shard) or a cursor. REQUIRES: the arity fits.
  Route route(const CommandEntry& entry, Words words) const {
    if (count_ == 1) return {};
    return route_among(entry, words);
  }

 private:
  /// How the owner is found.
  enum class Rule : std::uint8_t {
    none,         // it goes to no shard
    item,         // the item in word `at`
    item_or_all,  // the same, or "*"
    key,          // the key in word `at`
    keys,         // the keys from word `at` to the end
    all,
    list_cursor,
    scan_cursor,
    message_item,    // an item's name, or no bytes
    message_cursor,  // a number
  };
  struct Way {
    Rule rule = Rule::none;
    std::uint8_t at = 0;
  };

  static Way way_of(const CommandEntry& entry);
  Route route_among(const CommandEntry& entry, Words words) const;
  Route route_keys(Words keys) const;
  Route route_cursor(std::string_view number) const;

  std::uint16_t count_;
  std::array<Way, kCommandCount> ways_;
};

}  // namespace holdfast
