// What the command line says of a server and its sinks, and the sinks made of it. One thread.
#pragma once

#include "replication/kafka_sink.h"
#include "tools/credentials.h"

namespace holdfast {

inline constexpr int kRelayFailed = 1;
inline constexpr int kRelayUsage = 2;
inline constexpr int kRelaySuperseded = 3;

struct RelayArguments {
  std::string from = "127.0.0.1:7379";
  std::vector<std::string> sinks;
  std::string user;
  std::string secret_file;
  bool existing_items = false;
  bool set_aside = false;
  KafkaSinkSettings kafka;  // of all kafka sinks, but for name and brokers
  std::vector<std::string> kafka_headers;
  std::vector<std::string> kafka_properties;
  std::string metrics_bind = "127.0.0.1";
  std::uint16_t metrics_port = 9380;
};

struct NamedSink {
  std::string name;
  std::unique_ptr<EventSink> sink;
};

/// One for each --sink, in their order. Errors: bad_option, also for a --from or a url that cannot be read.
Result<std::vector<NamedSink>> make_sinks(const RelayArguments& arguments);

/// Says what is wrong; the exit status.
int relay_fail(const Error& error);

}  // namespace holdfast
