// CONFIG: the options under their own names, and what Redis's tools ask for by Redis's names.
#include "server/glob.h"
#include "server/options.h"
#include "server/session.h"
#include "server/session_commands.h"

#include <algorithm>

namespace holdfast {
namespace {

struct FixedParameter {
  std::string_view name;
  std::string_view value;
};

/// Redis's parameters that client libraries and tools read; here they cannot have another value.
constexpr FixedParameter kFixed[] = {
    {"appendfsync", "always"},
    {"appendonly", "yes"},
    {"cluster-enabled", "no"},
    {"databases", "1"},
    {"maxmemory", "0"},
    {"maxmemory-policy", "noeviction"},
    {"proto-max-bulk-len", "65536"},
    {"replica-read-only", "yes"},
    {"requirepass", ""},
    {"save", ""},
    {"slave-read-only", "yes"},
    {"timeout", "0"},
};

bool wanted(Words patterns, std::string_view name) noexcept {
  return std::any_of(patterns.begin(), patterns.end(), [&](std::string_view pattern) {
    return pattern.size() <= kPatternBytesMax && glob_matches(pattern, name, true);
  });
}

}  // namespace

void session_config_get(Session& session, Words words, ReplyWriter& reply) {
  const Words patterns = words.subspan(2);
  std::vector<std::pair<std::string_view, std::string>> found;
  for (const FixedParameter& fixed : kFixed) {
    if (wanted(patterns, fixed.name)) found.emplace_back(fixed.name, fixed.value);
  }
  for (const OptionEntry& entry : option_table()) {
    if (wanted(patterns, entry.name)) found.emplace_back(entry.name, entry.show(session.host().options()));
  }
  reply.map(found.size());
  for (const auto& [name, value] : found) {
    reply.bulk(name);
    reply.bulk(value);
  }
}

void session_config_resetstat(Session& session, Words, ReplyWriter& reply) {
  session.host().telemetry().reset();
  reply.status("OK");
}

}  // namespace holdfast
