// Who listens to what: channels, patterns and shard channels with the connections, of all threads, that subscribed to
// them. Publishing makes deliveries, one for each thread and name; how they get there is the business of who owns the
// connections. A shell with a lock that is held for a moment; any thread. No reservation passes here.
#pragma once

#include "protocol/error.h"
#include "server/message.h"

#include <boost/unordered/unordered_flat_map.hpp>
#include <boost/unordered/unordered_flat_set.hpp>

#include <atomic>
#include <mutex>

namespace holdfast {

enum class ChannelKind : std::uint8_t { channel, pattern, shard_channel };
inline constexpr std::size_t kChannelKinds = 3;

/// A connection of one of the threads.
struct Listener {
  ThreadIndex thread;
  ConnectionKey connection;
  bool operator==(const Listener&) const noexcept = default;
};

/// A message for those connections of a thread that listen to this name still when it comes.
struct Delivery {
  ThreadIndex thread;
  ChannelKind kind{};
  std::string name;     // channel, pattern or shard channel that they subscribed to
  std::string message;  // a push of RESP3, of which an array is made where RESP2 is spoken
  std::vector<ConnectionKey> connections;
};

/// What publishing came to: how many get it, one with several matching patterns several times.
struct Published {
  std::size_t receivers = 0;
  std::vector<Delivery> deliveries;
};

class PubSub {
 public:
  /// -ERR when there are too many patterns. REQUIRES: it is not subscribed to that.
  Result<void> add(ChannelKind kind, std::string_view name, Listener listener);
  /// REQUIRES: it is.
  void remove(ChannelKind kind, std::string_view name, Listener listener);

  Published publish(std::string_view channel, std::string_view message) const;
  Published publish_to_shard(std::string_view channel, std::string_view message) const;

  /// Whether anybody listens to holdfast:items.
  bool wants_items() const noexcept { return item_listeners_.load(std::memory_order_acquire) > 0; }

  // PUBSUB.

  std::size_t count(ChannelKind kind) const;
  std::size_t count(ChannelKind kind, std::string_view name) const;
  /// Every name of this kind.
  std::vector<std::string> names(ChannelKind kind) const;

 private:
  struct ListenerHash {
    std::size_t operator()(Listener listener) const noexcept {
      return std::size_t{listener.connection.index} << 16 | listener.thread.value();
    }
  };
  struct NameHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view name) const noexcept { return std::hash<std::string_view>()(name); }
  };
  using Listeners = boost::unordered_flat_set<Listener, ListenerHash>;
  using ByName = boost::unordered_flat_map<std::string, Listeners, NameHash, std::equal_to<>>;

  ByName& of(ChannelKind kind) noexcept { return by_name_[static_cast<std::size_t>(kind)]; }
  const ByName& of(ChannelKind kind) const noexcept { return by_name_[static_cast<std::size_t>(kind)]; }

  mutable std::mutex mutex_;
  ByName by_name_[kChannelKinds];
  std::atomic<std::size_t> item_listeners_{0};
};

/// Whether who subscribes to this hears of items.
bool hears_items(ChannelKind kind, std::string_view name) noexcept;

/// A push of bulks.
void append_push(std::string& out, RespVersion version, std::initializer_list<std::string_view> words);

}  // namespace holdfast
