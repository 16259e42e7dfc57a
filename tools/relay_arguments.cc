#include "tools/relay_arguments.h"

#include "replication/file_sink.h"
#include "replication/postgres_sink.h"
#include "storage/sinks_format.h"

#include <fmt/format.h>

#include <cstdio>
#include <set>

namespace holdfast {
namespace {

constexpr std::size_t kNameBytesMax = 64;

/// KIND[:NAME]=TARGET.
struct SinkWords {
  std::string kind;
  std::string name;
  std::string target;
};

Result<SinkWords> parse_sink(const std::string& text) {
  const std::size_t equals = text.find('=');
  SinkWords words;
  words.kind = text.substr(0, equals);
  if (equals != std::string::npos) words.target = text.substr(equals + 1);
  const std::size_t colon = words.kind.find(':');
  words.name = colon == std::string::npos ? words.kind : words.kind.substr(colon + 1);
  words.kind.resize(std::min(colon, words.kind.size()));
  constexpr std::string_view kAllowed = "abcdefghijklmnopqrstuvwxyz0123456789_-";
  const bool named = !words.name.empty() && words.name.size() <= kNameBytesMax &&
                     words.name.find_first_not_of(kAllowed) == std::string::npos;
  if (!named || words.target.empty() || (words.kind != "file" && words.kind != "postgres")) {
    return Error::format(ErrorCode::bad_option,
                         "--sink: '{}' is none of file=PATH, postgres=URL, KIND:NAME=TARGET (names of a-z 0-9 _ -)",
                         Echo(text.substr(0, equals)).text());
  }
  return words;
}

}  // namespace

Result<std::vector<NamedSink>> make_sinks(const RelayArguments& arguments) {
  std::vector<NamedSink> sinks;
  std::set<std::string> names;
  for (const std::string& text : arguments.sinks) {
    const auto words = parse_sink(text);
    if (!words) return words.error();
    if (!names.insert(words->name).second) {
      return Error::format(ErrorCode::bad_option, "--sink: two are called {}; give one a name by KIND:NAME=TARGET",
                           words->name);
    }
    auto sink = words->kind == "file" ? make_file_sink(words->target)
                                      : make_postgres_sink({words->name, words->target, arguments.existing_items});
    sinks.push_back({words->name, std::move(sink)});
  }
  if (sinks.empty() || sinks.size() > kSinksMax) {
    return Error::format(ErrorCode::bad_option, "--sink: 1 to {} are possible, {} were given", kSinksMax, sinks.size());
  }
  return sinks;
}

int relay_fail(const Error& error) {
  fmt::print(stderr, "holdfast-relay: {}\n", error.text());
  return error.code() == ErrorCode::bad_option ? kRelayUsage : kRelayFailed;
}

}  // namespace holdfast
