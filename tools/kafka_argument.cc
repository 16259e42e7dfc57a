#include "tools/kafka_argument.h"

#include <CLI/CLI.hpp>

namespace holdfast {

void add_kafka_options(CLI::App& app, KafkaWords& words) {
  app.add_option("--kafka", words.brokers, "Its brokers; else HOLDFAST_KAFKA holds them.")
      ->type_name("HOST:PORT,...")
      ->envname("HOLDFAST_KAFKA")
      ->required();
  app.add_option("--kafka-property", words.properties,
                 "A property of librdkafka, for TLS and SASL; several are possible.")
      ->type_name("NAME=VALUE");
}

void add_published_topic_options(CLI::App& app, KafkaWords& words) {
  app.add_option("--kafka-orders-topic", words.orders_topic, "flash-sale-orders if not said.")->type_name("TOPIC");
  app.add_option("--kafka-events-topic", words.events_topic, "flash-sale-events if not said.")->type_name("TOPIC");
}

void add_cursor_topic_option(CLI::App& app, KafkaWords& words) {
  app.add_option("--kafka-cursor-topic", words.cursor_topic, "holdfast-cursors if not said.")->type_name("TOPIC");
}

Result<KafkaAccess> kafka_access(const KafkaWords& words) {
  KafkaAccess access{words.brokers, {{"client.id", "holdfastctl"}}};
  for (const std::string& text : words.properties) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0) {
      return Error::format(ErrorCode::bad_option, "--kafka-property: '{}' is not NAME=VALUE",
                           Echo(text.substr(0, equals)).text());
    }
    std::string name = text.substr(0, equals);
    if (!kafka_property_is_free(name))
      return Error::format(ErrorCode::bad_option, "--kafka-property: {} is not free to choose", Echo(name).text());
    access.properties.push_back({std::move(name), text.substr(equals + 1)});
  }
  return access;
}

}  // namespace holdfast
