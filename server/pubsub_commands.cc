// SUBSCRIBE and its family, PUBLISH, PUBSUB.
#include "server/glob.h"
#include "server/item_notice.h"
#include "server/session.h"
#include "server/session_commands.h"

#include <vector>

namespace holdfast {
namespace {

constexpr std::size_t kBulkFrameBytes = 16;  // around the bytes of a bulk, at most

void write_change(ReplyWriter& reply, std::string_view what, const std::string* name, std::size_t count) {
  reply.push(3);
  reply.bulk(what);
  name == nullptr ? reply.null() : reply.bulk(*name);
  reply.integer(static_cast<std::int64_t>(count));
}

Result<void> check_name(Session& session, ChannelKind kind, std::string_view name) {
  const Subscriptions& now = session.subscriptions();
  if (hears_items(kind, name) && (session.user().roles & role_bit(Role::reader)) == 0) {
    return Error::format(ErrorCode::no_perm, "User {} has no permissions to access the '{}' channel",
                         session.user().name, kItemsChannel);
  }
  const std::size_t bytes_max = kind == ChannelKind::pattern ? kPatternBytesMax : kChannelBytesMax;
  if (name.size() > bytes_max) {
    return Error::format(ErrorCode::err, "a {} has at most {} bytes; this one has {}",
                         kind == ChannelKind::pattern ? "pattern" : "channel", bytes_max, name.size());
  }
  if (kind == ChannelKind::pattern && now.count(kind) >= kConnectionPatternsMax) {
    return Error::format(ErrorCode::err, "a connection has at most {} patterns", kConnectionPatternsMax);
  }
  if (now.total() < kSubscriptionsMax && now.name_bytes + name.size() <= kSubscriptionBytesMax) return {};
  return Error::format(ErrorCode::err, "a connection has at most {} subscriptions, with {} bytes of names",
                       kSubscriptionsMax, kSubscriptionBytesMax);
}

/// Of several names those before an error stay subscribed, and the error comes in place of the rest.
void subscribe(Session& session, ChannelKind kind, std::string_view what, Words words, ReplyWriter& reply) {
  Subscriptions& now = session.subscriptions();
  for (const std::string_view word : words.subspan(1)) {
    if (now.of(kind).find(word) == now.of(kind).end()) {
      if (const auto fits = check_name(session, kind, word); !fits) return reply.error(fits.error());
      const auto added = session.host().pubsub().add(kind, word, session.listener());
      if (!added) return reply.error(added.error());
      now.of(kind).emplace(word);
      now.name_bytes += word.size();
      if (hears_items(kind, word)) {
        now.readings.push_back({kind, kind == ChannelKind::pattern ? std::string(word) : std::string(), 0});
      }
    }
    const std::string name(word);
    write_change(reply, what, &name, now.counted_with(kind));
  }
}

void drop(Session& session, ChannelKind kind, Subscriptions::Names::iterator name) {
  Subscriptions& now = session.subscriptions();
  session.host().pubsub().remove(kind, *name, session.listener());
  now.name_bytes -= name->size();
  if (hears_items(kind, *name)) {
    const std::string pattern = kind == ChannelKind::pattern ? *name : std::string();
    std::erase_if(now.readings,
                  [&](const NoticeReading& reading) { return reading.kind == kind && reading.pattern == pattern; });
    now.page_dropped = now.page_asked;
  }
  now.of(kind).erase(name);
}

void unsubscribe(Session& session, ChannelKind kind, std::string_view what, Words words, ReplyWriter& reply) {
  if (!session.has_subscriptions()) {
    if (words.size() == 1) return write_change(reply, what, nullptr, 0);
    for (const std::string_view word : words.subspan(1)) {
      const std::string name(word);
      write_change(reply, what, &name, 0);
    }
    return;
  }
  Subscriptions& now = session.subscriptions();
  std::vector<std::string> names(words.begin() + 1, words.end());
  if (words.size() == 1) names.assign(now.of(kind).begin(), now.of(kind).end());
  for (const std::string& name : names) {
    if (const auto found = now.of(kind).find(name); found != now.of(kind).end()) drop(session, kind, found);
    write_change(reply, what, &name, now.counted_with(kind));
  }
  if (names.empty()) write_change(reply, what, nullptr, now.counted_with(kind));
}

bool may_publish(Words words, ReplyWriter& reply) {
  if (words[1] == kItemsChannel) {
    reply.raw_error("ERR holdfast:items carries the server's own notices; publish to another channel");
    return false;
  }
  if (words[1].size() <= kChannelBytesMax) return true;
  reply.error(Error::format(ErrorCode::err, "a channel has at most {} bytes; this one has {}", kChannelBytesMax,
                            words[1].size()));
  return false;
}

void deliver(Session& session, Published published, ReplyWriter& reply) {
  reply.integer(static_cast<std::int64_t>(published.receivers));
  for (Delivery& delivery : published.deliveries) session.host().deliver(std::move(delivery));
}

void write_channels(Session& session, ChannelKind kind, Words words, ReplyWriter& reply) {
  if (words.size() > 3) return reply.raw_error(kSyntaxError);
  if (words.size() == 3 && words[2].size() > kPatternBytesMax) {
    return reply.error(Error::format(ErrorCode::err, "a pattern has at most {} bytes", kPatternBytesMax));
  }
  std::vector<std::string> found = session.host().pubsub().names(kind);
  if (words.size() == 3) std::erase_if(found, [&](const std::string& name) { return !glob_matches(words[2], name); });
  std::size_t bytes = 0;
  for (const std::string& name : found) bytes += name.size() + kBulkFrameBytes;
  if (bytes > kReplyBytesMax) {
    return reply.error(
        Error::format(ErrorCode::err, "{} channels are too many for one reply; give a narrower pattern", found.size()));
  }
  reply.array(found.size());
  for (const std::string& name : found) reply.bulk(name);
}

void write_counts(Session& session, ChannelKind kind, Words words, ReplyWriter& reply) {
  reply.array((words.size() - 2) * 2);
  for (const std::string_view name : words.subspan(2)) {
    reply.bulk(name);
    reply.integer(static_cast<std::int64_t>(session.host().pubsub().count(kind, name)));
  }
}

}  // namespace

void Session::leave_channels() {
  if (!has_subscriptions()) return;
  for (const ChannelKind kind : {ChannelKind::channel, ChannelKind::pattern, ChannelKind::shard_channel}) {
    auto& names = subscriptions_->of(kind);
    while (!names.empty()) drop(*this, kind, names.begin());
  }
}

void session_subscribe(Session& session, Words words, ReplyWriter& reply) {
  subscribe(session, ChannelKind::channel, "subscribe", words, reply);
}
void session_unsubscribe(Session& session, Words words, ReplyWriter& reply) {
  unsubscribe(session, ChannelKind::channel, "unsubscribe", words, reply);
}
void session_psubscribe(Session& session, Words words, ReplyWriter& reply) {
  subscribe(session, ChannelKind::pattern, "psubscribe", words, reply);
}
void session_punsubscribe(Session& session, Words words, ReplyWriter& reply) {
  unsubscribe(session, ChannelKind::pattern, "punsubscribe", words, reply);
}
void session_ssubscribe(Session& session, Words words, ReplyWriter& reply) {
  subscribe(session, ChannelKind::shard_channel, "ssubscribe", words, reply);
}
void session_sunsubscribe(Session& session, Words words, ReplyWriter& reply) {
  unsubscribe(session, ChannelKind::shard_channel, "sunsubscribe", words, reply);
}

void session_publish(Session& session, Words words, ReplyWriter& reply) {
  if (!may_publish(words, reply)) return;
  deliver(session, session.host().pubsub().publish(words[1], words[2]), reply);
}

void session_spublish(Session& session, Words words, ReplyWriter& reply) {
  if (!may_publish(words, reply)) return;
  deliver(session, session.host().pubsub().publish_to_shard(words[1], words[2]), reply);
}

void session_pubsub_channels(Session& session, Words words, ReplyWriter& reply) {
  write_channels(session, ChannelKind::channel, words, reply);
}
void session_pubsub_shardchannels(Session& session, Words words, ReplyWriter& reply) {
  write_channels(session, ChannelKind::shard_channel, words, reply);
}
void session_pubsub_numsub(Session& session, Words words, ReplyWriter& reply) {
  write_counts(session, ChannelKind::channel, words, reply);
}
void session_pubsub_shardnumsub(Session& session, Words words, ReplyWriter& reply) {
  write_counts(session, ChannelKind::shard_channel, words, reply);
}
void session_pubsub_numpat(Session& session, Words, ReplyWriter& reply) {
  reply.integer(static_cast<std::int64_t>(session.host().pubsub().count(ChannelKind::pattern)));
}

}  // namespace holdfast
