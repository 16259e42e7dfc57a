#include "server/pubsub.h"

#include "protocol/check.h"
#include "protocol/reply_writer.h"
#include "server/glob.h"
#include "server/item_notice.h"

#include <algorithm>

namespace holdfast {

bool hears_items(ChannelKind kind, std::string_view name) noexcept {
  if (kind == ChannelKind::pattern) return glob_matches(name, kItemsChannel);
  return kind == ChannelKind::channel && name == kItemsChannel;
}

void append_push(std::string& out, RespVersion version, std::initializer_list<std::string_view> words) {
  ReplyWriter push(out, version);
  push.push(words.size());
  for (const std::string_view word : words) push.bulk(word);
}

namespace {

/// One delivery for each thread that has a listener.
void add_deliveries(Published& published, ChannelKind kind, std::string_view name, const auto& listeners,
                    std::initializer_list<std::string_view> words) {
  const std::size_t first = published.deliveries.size();
  for (const Listener& listener : listeners) {
    const auto begin = published.deliveries.begin() + static_cast<std::ptrdiff_t>(first);
    auto found = std::find_if(begin, published.deliveries.end(),
                              [&](const Delivery& delivery) { return delivery.thread == listener.thread; });
    if (found == published.deliveries.end()) {
      found = published.deliveries.insert(found, {listener.thread, kind, std::string(name), {}, {}});
      append_push(found->message, RespVersion::resp3, words);
    }
    found->connections.push_back(listener.connection);
  }
  published.receivers += listeners.size();
}

}  // namespace

Result<void> PubSub::add(ChannelKind kind, std::string_view name, Listener listener) {
  const std::lock_guard lock(mutex_);
  ByName& names = of(kind);
  auto found = names.find(name);
  if (found == names.end()) {
    if (kind == ChannelKind::pattern && names.size() >= kPatternsMax) {
      return Error::format(ErrorCode::err, "there are {} different patterns; there may be no more", names.size());
    }
    found = names.emplace(std::string(name), Listeners()).first;
  }
  CHECK(found->second.insert(listener).second);
  if (hears_items(kind, name)) item_listeners_.fetch_add(1, std::memory_order_acq_rel);
  return {};
}

void PubSub::remove(ChannelKind kind, std::string_view name, Listener listener) {
  const std::lock_guard lock(mutex_);
  ByName& names = of(kind);
  const auto found = names.find(name);
  CHECK(found != names.end() && found->second.erase(listener) == 1);
  if (hears_items(kind, name)) item_listeners_.fetch_sub(1, std::memory_order_acq_rel);
  if (found->second.empty()) names.erase(found);
}

std::size_t PubSub::count(ChannelKind kind) const {
  const std::lock_guard lock(mutex_);
  return of(kind).size();
}

std::size_t PubSub::count(ChannelKind kind, std::string_view name) const {
  const std::lock_guard lock(mutex_);
  const auto found = of(kind).find(name);
  return found == of(kind).end() ? 0 : found->second.size();
}

std::vector<std::string> PubSub::names(ChannelKind kind) const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> all;
  all.reserve(of(kind).size());
  for (const auto& [name, listeners] : of(kind)) all.push_back(name);
  return all;
}

Published PubSub::publish(std::string_view channel, std::string_view message) const {
  const std::lock_guard lock(mutex_);
  Published published;
  const ByName& channels = of(ChannelKind::channel);
  if (const auto found = channels.find(channel); found != channels.end()) {
    add_deliveries(published, ChannelKind::channel, channel, found->second, {"message", channel, message});
  }
  for (const auto& [pattern, listeners] : of(ChannelKind::pattern)) {
    if (!glob_matches(pattern, channel)) continue;
    add_deliveries(published, ChannelKind::pattern, pattern, listeners, {"pmessage", pattern, channel, message});
  }
  return published;
}

Published PubSub::publish_to_shard(std::string_view channel, std::string_view message) const {
  const std::lock_guard lock(mutex_);
  Published published;
  const ByName& channels = of(ChannelKind::shard_channel);
  if (const auto found = channels.find(channel); found != channels.end()) {
    add_deliveries(published, ChannelKind::shard_channel, channel, found->second, {"smessage", channel, message});
  }
  return published;
}

}  // namespace holdfast
