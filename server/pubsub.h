// Who listens to what: channels, patterns and shard channels with the connections that subscribed to them. Publishing
// hands a message to each of these; how it gets there is the business of who owns the connections. A thread's; with
// several, each has its own and what is published goes to all.
#pragma once

#include "protocol/error.h"
#include "server/message.h"

#include <boost/unordered/unordered_flat_map.hpp>
#include <boost/unordered/unordered_flat_set.hpp>

namespace holdfast {

enum class ChannelKind : std::uint8_t { channel, pattern, shard_channel };
inline constexpr std::size_t kChannelKinds = 3;

/// The connections of a thread, as those who publish see them.
class Subscribers {
 public:
  virtual ~Subscribers() = default;
  /// Takes a message for a connection: a push of RESP3, of which an array is made where RESP2 is spoken. Does not change
  /// who is subscribed before it returns.
  virtual void push(ConnectionKey connection, std::string_view message) = 0;
};

class PubSub {
 public:
  explicit PubSub(Subscribers& subscribers) : subscribers_(subscribers) {}

  /// -ERR when there are too many patterns. REQUIRES: it is not subscribed to that.
  Result<void> add(ChannelKind kind, std::string_view name, ConnectionKey connection);
  /// REQUIRES: it is.
  void remove(ChannelKind kind, std::string_view name, ConnectionKey connection);

  /// Sends a message to all that listen; how many get it, one with several matching patterns several times.
  std::size_t publish(std::string_view channel, std::string_view message);
  std::size_t publish_to_shard(std::string_view channel, std::string_view message);

  /// Whether anybody listens to holdfast:items.
  bool wants_items() const noexcept { return item_listeners_ > 0; }

  // PUBSUB.

  std::size_t count(ChannelKind kind) const noexcept { return of(kind).size(); }
  std::size_t count(ChannelKind kind, std::string_view name) const;
  /// Calls `each(name)` for every name of this kind.
  template <class Each>
  void each_name(ChannelKind kind, Each each) const {
    for (const auto& [name, listeners] : of(kind)) each(std::string_view(name));
  }

 private:
  struct KeyHash {
    std::size_t operator()(ConnectionKey key) const noexcept { return key.index; }
  };
  struct NameHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view name) const noexcept { return std::hash<std::string_view>()(name); }
  };
  using Listeners = boost::unordered_flat_set<ConnectionKey, KeyHash>;
  using ByName = boost::unordered_flat_map<std::string, Listeners, NameHash, std::equal_to<>>;

  ByName& of(ChannelKind kind) noexcept { return by_name_[static_cast<std::size_t>(kind)]; }
  const ByName& of(ChannelKind kind) const noexcept { return by_name_[static_cast<std::size_t>(kind)]; }
  std::size_t send(const Listeners& listeners, std::initializer_list<std::string_view> words);

  Subscribers& subscribers_;
  ByName by_name_[kChannelKinds];
  std::size_t item_listeners_ = 0;
  std::string message_;  // being sent
};

/// Whether who subscribes to this hears of items.
bool hears_items(ChannelKind kind, std::string_view name) noexcept;

/// A push of bulks.
void append_push(std::string& out, RespVersion version, std::initializer_list<std::string_view> words);

}  // namespace holdfast
