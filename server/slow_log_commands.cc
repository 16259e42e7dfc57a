// SLOWLOG, as Redis 7.2 answers it.
#include "protocol/names.h"
#include "server/session.h"
#include "server/session_commands.h"

#include <cstdint>

namespace holdfast {
namespace {

constexpr std::size_t kShownByDefault = 10;

void write_entry(const SlowLog::Entry& entry, ReplyWriter& reply) {
  reply.array(6);
  reply.integer(static_cast<std::int64_t>(entry.id));
  reply.integer(entry.unix_seconds);
  reply.integer(static_cast<std::int64_t>(entry.duration_us));
  reply.array(entry.words.size());
  for (const std::string& word : entry.words) reply.bulk(word);
  reply.bulk(entry.address);
  reply.bulk(entry.name);
}

}  // namespace

void session_slowlog_get(Session& session, Words words, ReplyWriter& reply) {
  std::size_t count = kShownByDefault;
  if (words.size() > 3) return reply.raw_error("ERR wrong number of arguments for 'slowlog|get' command");
  if (words.size() == 3) {
    std::int64_t wanted = 0;
    if (!parse_integer(words[2], wanted) || wanted < -1)
      return reply.raw_error("ERR count should be greater than or equal to -1");
    count = wanted == -1 ? SIZE_MAX : static_cast<std::size_t>(wanted);
  }
  const auto entries = session.host().telemetry().shared().slow_entries(count);
  reply.array(entries.size());
  for (const SlowLog::Entry& entry : entries) write_entry(entry, reply);
}

void session_slowlog_len(Session& session, Words, ReplyWriter& reply) {
  reply.integer(static_cast<std::int64_t>(session.host().telemetry().shared().slow_count()));
}

void session_slowlog_reset(Session& session, Words, ReplyWriter& reply) {
  session.host().telemetry().shared().reset_slow();
  reply.status("OK");
}

}  // namespace holdfast
