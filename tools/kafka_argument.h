// The options of commands that ask a Kafka cluster. No state; any thread.
#pragma once

#include "replication/kafka_handle.h"

namespace CLI {  // NOLINT(readability-identifier-naming): the library's
class App;
}

namespace holdfast {

struct KafkaWords {
  std::string brokers;
  std::vector<std::string> properties;  // NAME=VALUE, as parse_kafka_property reads them
  std::string orders_topic = kKafkaOrdersTopic;
  std::string events_topic = kKafkaEventsTopic;
  std::string cursor_topic = kKafkaCursorTopic;
};

/// --kafka BROKERS, else HOLDFAST_KAFKA; --kafka-property.
void add_kafka_options(CLI::App& app, KafkaWords& words);
/// --kafka-orders-topic, --kafka-events-topic.
void add_published_topic_options(CLI::App& app, KafkaWords& words);
/// --kafka-cursor-topic.
void add_cursor_topic_option(CLI::App& app, KafkaWords& words);

/// Errors: parse_kafka_property's.
Result<KafkaAccess> kafka_access(const KafkaWords& words);

}  // namespace holdfast
