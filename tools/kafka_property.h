// What a command line says of a Kafka: properties of librdkafka, and topics. Secrets come from files, never from the command line, which every
// process on the machine can read. No state; any thread.
#pragma once

#include "replication/kafka_handle.h"

namespace holdfast {

/// NAME=VALUE; of a secret, NAME=@FILE, whose first line it is. Errors: bad_option, for a property on which the sink's promises
/// rest, too; they never repeat a value.
Result<KafkaProperty> parse_kafka_property(std::string_view text);
/// Puts all of them behind `to`. Errors: as above.
Result<void> add_kafka_properties(const std::vector<std::string>& texts, std::vector<KafkaProperty>& to);

/// Whether each has a topic of its own; orders may have none. Errors: bad_option.
Result<void> check_kafka_topic_names(std::string_view orders, std::string_view events, std::string_view cursor);

}  // namespace holdfast
