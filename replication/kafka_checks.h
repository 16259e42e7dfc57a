// What the kafka sink asks of a cluster and its topics before it writes, and what an error of Kafka means to it. Pure; any
// thread.
#pragma once

#include "replication/kafka_record.h"

namespace holdfast {

/// A topic as the cluster has it.
struct KafkaTopicFacts {
  std::string name;
  bool exists = false;
  std::size_t partitions = 0;
  std::size_t replicas = 0;                                  // of the partition that has the fewest
  std::map<std::string, std::string, std::less<>> settings;  // as the broker names them, whoever set them

  std::string_view setting(std::string_view key) const;
  /// 0 when it says nothing.
  std::int64_t number(std::string_view key) const;
};

/// The fewest replicas of a topic, and of those the fewest that must have a record, with which a lost broker loses nothing.
inline constexpr std::size_t kKafkaReplicasMin = 3;
inline constexpr std::int64_t kKafkaInSyncMin = 2;

/// Errors: `unsupported`, saying what to do.
Result<void> check_kafka_topic(KafkaRole role, const KafkaTopicFacts& topic, bool allow_unreplicated);
/// Brokers from 3.6 on verify that a partition belongs to a transaction, which they show by this setting.
inline constexpr std::string_view kKafkaVerifiesPartitions = "transaction.partition.verification.enable";
Result<void> check_kafka_broker(const std::map<std::string, std::string, std::less<>>& settings);

/// Whether the topic has the partitions that it had when the sink last wrote, unless the count was changed on purpose. A key's
/// partition depends on the count. Error: `damaged`.
Result<void> check_kafka_partitions(const KafkaCursor& written, const KafkaTopicFacts& topic, bool accept);
/// Whether the sink wrote to the topic, or has written nothing yet: in another it would begin in the middle. Error: `damaged`.
Result<void> check_kafka_topic_known(const KafkaCursor& written, const std::string& topic);
/// Whether the topic still holds what the sink wrote: `ends` of its partitions now. Error: `damaged`.
Result<void> check_kafka_ends(const KafkaCursor& written, const std::string& topic, std::span<const std::int64_t> ends);

/// Whether another relay took the sink over since this one, `owner`, did under `epoch` (none: it never did).
bool kafka_taken_over(const std::optional<KafkaCursor>& found, const std::string& owner, Epoch epoch) noexcept;

/// What one request may hold for a partition of any of them. REQUIRES: their settings are known.
std::size_t kafka_batch_bytes(std::span<const KafkaTopicFacts> topics);

/// An error code of librdkafka or of the protocol, as errors of EventSink are: io_failed where waiting may help, or opening
/// the sink tells more.
ErrorCode kafka_error_code(int code) noexcept;
/// What to do about it; empty when there is nothing that a person could do.
std::string_view kafka_error_hint(int code) noexcept;

/// Whether a person may set this property of librdkafka: it is none of those on which the sink's promises rest.
bool kafka_property_is_free(std::string_view name) noexcept;

}  // namespace holdfast
