// What one connection is subscribed to, and which first notices of holdfast:items it is still to get. Data; the
// connection's thread.
#pragma once

#include "server/pubsub.h"

#include <deque>
#include <functional>
#include <set>

namespace holdfast {

/// First notices that are on their way: for a channel or pattern, from a position on.
struct NoticeReading {
  ChannelKind kind{};
  std::string pattern;  // of a pattern
  std::uint64_t position = 0;
};

struct Subscriptions {
  using Names = std::set<std::string, std::less<>>;

  Names& of(ChannelKind kind) noexcept { return names[static_cast<std::size_t>(kind)]; }
  std::size_t count(ChannelKind kind) const noexcept { return names[static_cast<std::size_t>(kind)].size(); }
  std::size_t total() const noexcept { return names[0].size() + names[1].size() + names[2].size(); }
  /// What replies to SUBSCRIBE and UNSUBSCRIBE count: shard channels by themselves.
  std::size_t counted_with(ChannelKind kind) const noexcept {
    return kind == ChannelKind::shard_channel ? count(kind) : count(ChannelKind::channel) + count(ChannelKind::pattern);
  }

  std::size_t memory() const noexcept { return sizeof(*this) + name_bytes + total() * kNameOverheadBytes; }

  static constexpr std::size_t kNameOverheadBytes = 128;  // of a name in both tables, about
  Names names[kChannelKinds];
  std::size_t name_bytes = 0;
  std::deque<NoticeReading> readings;  // the front is being read
  bool page_asked = false;             // and not answered yet
  bool page_dropped = false;           // what comes is for a subscription that is gone
  ReplySlot page_slot;
};

}  // namespace holdfast
