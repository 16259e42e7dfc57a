#include "tools/relay_arguments.h"

#include "replication/file_sink.h"
#include "replication/postgres_connection.h"
#include "replication/postgres_sink.h"
#include "storage/sinks_format.h"
#include "tools/kafka_property.h"
#include "tools/resp_client.h"

#include <fmt/format.h>

#include <cstdio>
#include <set>

namespace holdfast {
namespace {

constexpr std::size_t kNameBytesMax = 64;
const std::set<std::string> kKinds = {"file", "postgres", "kafka"};

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
  if (!named || words.target.empty() || !kKinds.contains(words.kind)) {
    return Error::format(
        ErrorCode::bad_option,
        "--sink: '{}' is none of file=PATH, postgres=URL, kafka=BROKERS, KIND:NAME=TARGET (names of a-z 0-9 _ -)",
        Echo(text.substr(0, equals)).text());
  }
  return words;
}

Result<KafkaSinkSettings> kafka_settings(const RelayArguments& arguments, const SinkWords& words) {
  KafkaSinkSettings settings = arguments.kafka;
  settings.name = words.name;
  settings.access.brokers = words.target;
  for (const std::string& text : arguments.kafka_headers) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0) {
      return Error::format(ErrorCode::bad_option, "--kafka-header: '{}' is not NAME=VALUE", Echo(text).text());
    }
    settings.headers.push_back({text.substr(0, equals), text.substr(equals + 1)});
  }
  HOLDFAST_TRY(add_kafka_properties(arguments.kafka_properties, settings.access.properties));
  HOLDFAST_TRY(check_kafka_topic_names(settings.orders_topic, settings.events_topic, settings.cursor_topic));
  return settings;
}

Result<std::unique_ptr<EventSink>> make_sink(const RelayArguments& arguments, const SinkWords& words) {
  if (words.kind == "file") return make_file_sink(words.target);
  if (words.kind == "postgres") return make_postgres_sink({words.name, words.target, arguments.existing_items});
  auto settings = kafka_settings(arguments, words);
  if (!settings) return settings.error();
  return make_kafka_sink(std::move(*settings));
}

}  // namespace

Result<std::vector<NamedSink>> make_sinks(const RelayArguments& arguments) {
  HOLDFAST_TRY(check_server(arguments.from));
  std::vector<NamedSink> sinks;
  std::set<std::string> names;
  for (const std::string& text : arguments.sinks) {
    const auto words = parse_sink(text);
    if (!words) return words.error();
    if (!names.insert(words->name).second) {
      return Error::format(ErrorCode::bad_option, "--sink: two are called {}; give one a name by KIND:NAME=TARGET",
                           words->name);
    }
    if (words->kind == "postgres") HOLDFAST_TRY(PostgresConnection::check_url(words->target));
    auto sink = make_sink(arguments, *words);
    if (!sink) return sink.error();
    sinks.push_back({words->name, std::move(*sink)});
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
