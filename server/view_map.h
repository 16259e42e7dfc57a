// The views that a thread knows, and the answers that it gives from them: RESERVE refused without asking the item's
// owner. Filled by what owners tell with their replies. No I/O and no clock; one thread, each its own.
#pragma once

#include "server/refusal.h"
#include "server/requests.h"
#include "server/view_hashes.h"

#include <boost/unordered/unordered_flat_map.hpp>

#include <string>
#include <vector>

namespace holdfast {

struct ItemView;

/// When a command's last byte was read.
struct ViewTime {
  std::chrono::nanoseconds hold{};
  WallTime wall;

  static ViewTime of(const Now& now) noexcept { return {now.hold.time_since_epoch(), now.wall}; }
};

/// Where an item is kept: the shard, and its place and number there.
struct ViewOwner {
  ShardIndex shard;
  std::uint32_t item_index = 0;
  ItemNumber item;
};

/// How often an item's view was asked.
struct ViewAsked {
  ViewOwner owner;
  std::uint64_t times = 0;
};

class ViewMap {
 public:
  /// `hashes`: as the owners have them.
  explicit ViewMap(const ViewHashes& hashes);

  /// An owner told of an item's view (ViewNews). The newest one of a name counts.
  void learn(std::string_view item, const ItemView* view, const ViewOwner& owner = {});
  /// From here on the view is not read any more; nothing happens if it is not known.
  void forget(const ItemView* view);
  std::size_t size() const noexcept { return views_.size(); }

  /// The refusal, or nothing when the owner has to be asked. REQUIRES: the connection has no command outstanding at the
  /// item's owner, and `now` was read after the command's last byte. A request with TOKEN is for the owner.
  std::optional<Refusal> look(const ReserveRequest& request, const ViewTime& now) const;

  /// The same for the words of a RESERVE: writes the reply and returns what it was, or does nothing. Words that do not
  /// parse are for the owner, who says so.
  std::optional<ReserveOutcome> answer(Words words, const ViewTime& now, ReplyWriter& reply);
  /// How often views have answered since the last call, of those that have.
  std::vector<ViewAsked> take_asked();

 private:
  struct NameHash {
    using is_transparent = void;
    ViewHashes hashes;
    std::size_t operator()(std::string_view name) const noexcept { return hashes.name(name); }
  };
  struct NameEqual {
    using is_transparent = void;
    bool operator()(std::string_view a, std::string_view b) const noexcept { return a == b; }
  };

  struct Known {
    const ItemView* view = nullptr;
    ViewOwner owner;
    std::uint64_t asked = 0;
  };
  std::optional<Refusal> look(const ItemView& view, const ReserveRequest& request, const ViewTime& now) const;

  ViewHashes hashes_;
  boost::unordered_flat_map<std::string, Known, NameHash, NameEqual> views_;
  boost::unordered_flat_map<const ItemView*, std::string> names_;  // the same the other way round
};

}  // namespace holdfast
