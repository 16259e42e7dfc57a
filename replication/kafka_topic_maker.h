// Makes topics: a shell around librdkafka's admin API. Errors as kafka_handle.h says.
#pragma once

#include "replication/kafka_handle.h"
#include "replication/kafka_topic_plan.h"

namespace holdfast {

/// What came of a topic.
struct KafkaTopicMade {
  bool made = false;
  bool existed = false;  // somebody made it meanwhile
  std::string refusal;   // the brokers' reason
};

/// One answer a topic, in their order. `only_ask`: the brokers say what they would do, and do nothing.
Result<std::vector<KafkaTopicMade>> make_kafka_topics(const KafkaAccess& access, std::span<const KafkaTopicPlan> plans,
                                                      bool only_ask);

}  // namespace holdfast
