#include "server/pubsub.h"

#include "protocol/check.h"
#include "protocol/reply_writer.h"
#include "server/glob.h"
#include "server/item_notice.h"

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

Result<void> PubSub::add(ChannelKind kind, std::string_view name, ConnectionKey connection) {
  ByName& names = of(kind);
  auto found = names.find(name);
  if (found == names.end()) {
    if (kind == ChannelKind::pattern && names.size() >= kPatternsMax) {
      return Error::format(ErrorCode::err, "there are {} different patterns; there may be no more", names.size());
    }
    found = names.emplace(std::string(name), Listeners()).first;
  }
  CHECK(found->second.insert(connection).second);
  if (hears_items(kind, name)) ++item_listeners_;
  return {};
}

void PubSub::remove(ChannelKind kind, std::string_view name, ConnectionKey connection) {
  ByName& names = of(kind);
  const auto found = names.find(name);
  CHECK(found != names.end() && found->second.erase(connection) == 1);
  if (hears_items(kind, name)) --item_listeners_;
  if (found->second.empty()) names.erase(found);
}

std::size_t PubSub::count(ChannelKind kind, std::string_view name) const {
  const auto found = of(kind).find(name);
  return found == of(kind).end() ? 0 : found->second.size();
}

std::size_t PubSub::publish(std::string_view channel, std::string_view message) {
  std::size_t receivers = 0;
  const ByName& channels = of(ChannelKind::channel);
  if (const auto found = channels.find(channel); found != channels.end()) {
    receivers += send(found->second, {"message", channel, message});
  }
  for (const auto& [pattern, listeners] : of(ChannelKind::pattern)) {
    if (glob_matches(pattern, channel)) receivers += send(listeners, {"pmessage", pattern, channel, message});
  }
  return receivers;
}

std::size_t PubSub::publish_to_shard(std::string_view channel, std::string_view message) {
  const ByName& channels = of(ChannelKind::shard_channel);
  const auto found = channels.find(channel);
  return found == channels.end() ? 0 : send(found->second, {"smessage", channel, message});
}

std::size_t PubSub::send(const Listeners& listeners, std::initializer_list<std::string_view> words) {
  message_.clear();
  append_push(message_, RespVersion::resp3, words);
  for (const ConnectionKey connection : listeners) subscribers_.push(connection, message_);
  return listeners.size();
}

}  // namespace holdfast
