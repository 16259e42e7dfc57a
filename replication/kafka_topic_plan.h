// The topics that the kafka sink and its consumers need: how each is made, and how one that is there differs. Pure; any thread.
#pragma once

#include "replication/kafka_checks.h"

namespace holdfast {

inline constexpr std::int64_t kDayMs = 24LL * 60 * 60 * 1000;

enum class KafkaTopicKind : std::uint8_t { published, cursor, dead_letters };

/// What a person may say of them; what he does not say is chosen for a topic that is made, and taken as it is in one that is there.
struct KafkaTopicWishes {
  std::optional<std::size_t> partitions;     // the cursor topic has one
  std::size_t replicas = kKafkaReplicasMin;  // or more
  std::optional<std::int64_t> in_sync;       // or more; of one replica 1, of two 1, of more 2
  std::optional<std::int64_t> retention_ms;  // or longer, -1: for ever; the cursor topic keeps the newest of each key
};

/// How a setting, or a count, must stand to the value that it is made with.
enum class KafkaMeasure : std::uint8_t { exactly, at_least, at_most };

struct KafkaTopicSetting {
  std::string name;
  std::string value;
  KafkaMeasure measure{};
  bool wanted = true;  // false: only a topic that is made gets it
};

struct KafkaTopicPlan {
  std::string name;
  std::size_t partitions = 0;
  bool partitions_wanted = false;
  std::size_t replicas = 0;
  std::vector<KafkaTopicSetting> settings;
};

KafkaTopicPlan plan_kafka_topic(KafkaTopicKind kind, const std::string& name, const KafkaTopicWishes& wishes);

struct KafkaTopicDifference {
  std::string what;  // a setting's name, "partitions", "replicas"
  std::string is;
  std::string wanted;  // "compact", "at least 2"
  std::string set_to;  // the setting's value that mends it; empty: no setting alone does
};

/// Nothing: the topic is as it should be. REQUIRES: it exists, with its settings.
std::vector<KafkaTopicDifference> compare_kafka_topic(const KafkaTopicPlan& plan, const KafkaTopicFacts& facts);

}  // namespace holdfast
