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
};

bool is_fixed(std::string_view name) noexcept {
  return std::any_of(std::begin(kFixed), std::end(kFixed),
                     [&](const FixedParameter& fixed) { return fixed.name == name; });
}

bool wanted(Words patterns, std::string_view name) noexcept {
  return std::any_of(patterns.begin(), patterns.end(), [&](std::string_view pattern) {
    return pattern.size() <= kPatternBytesMax && glob_matches(pattern, name, true);
  });
}

/// Sets what one name and value of CONFIG SET say; the error is Redis's.
Result<void> set_option(std::string_view word, std::string_view value, std::vector<const OptionEntry*>& set,
                        Options& options) {
  std::string name(word);
  std::transform(name.begin(), name.end(), name.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  const OptionEntry* entry = find_option(name);
  if (entry == nullptr && !is_fixed(name)) {
    return Error::format(ErrorCode::err, "Unknown option or number of arguments for CONFIG SET - '{}'",
                         word.substr(0, 128));
  }
  const auto failed = [&](std::string_view why) {
    return Error::format(ErrorCode::err, "CONFIG SET failed (possibly related to argument '{}') - {}", name, why);
  };
  if (entry == nullptr || !entry->live) return failed("can't set immutable config");
  if (std::find(set.begin(), set.end(), entry) != set.end()) return failed("duplicate parameter");
  set.push_back(entry);
  const auto done = entry->set(options, *entry, value);
  if (done) return {};
  const Error error = done.error();
  std::string_view why = error.text();
  if (why.starts_with(entry->name)) why.remove_prefix(entry->name.size() + 2);  // "name: "
  return failed(why);
}

}  // namespace

void session_config_set(Session& session, Words words, ReplyWriter& reply) {
  if (words.size() % 2 != 0) return reply.raw_error(kSyntaxError);
  std::vector<const OptionEntry*> set;
  const auto done = session.host().change_options([&](Options& options) -> Result<void> {
    for (std::size_t i = 2; i < words.size(); i += 2) HOLDFAST_TRY(set_option(words[i], words[i + 1], set, options));
    return {};
  });
  if (!done) return reply.error(done.error());
  reply.status("OK");
}

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
  session.host().telemetry().shared().reset();
  reply.status("OK");
}

}  // namespace holdfast
