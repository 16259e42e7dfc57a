#include "tools/kafka_argument.h"

#include "tools/kafka_property.h"

#include <CLI/CLI.hpp>

namespace holdfast {

void add_kafka_options(CLI::App& app, KafkaWords& words) {
  app.add_option("--kafka", words.brokers, "Its brokers; else HOLDFAST_KAFKA holds them.")
      ->type_name("HOST:PORT,...")
      ->envname("HOLDFAST_KAFKA")
      ->required();
  app.add_option("--kafka-property", words.properties,
                 "A property of librdkafka, for TLS and SASL; of a secret, NAME=@FILE. Several are possible.")
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
  HOLDFAST_TRY(add_kafka_properties(words.properties, access.properties));
  return access;
}

}  // namespace holdfast
