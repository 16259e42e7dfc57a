#include "replication/kafka_checks.h"

#include "protocol/names.h"
#include "replication/limits.h"

#include <fmt/format.h>
#include <librdkafka/rdkafka.h>

#include <algorithm>
#include <array>

namespace holdfast {
namespace {

template <class... Args>
Error wrong(const KafkaTopicFacts& topic, fmt::format_string<Args...> format, Args&&... args) {
  return Error::format(ErrorCode::unsupported, "kafka: topic {}: {}", topic.name,
                       fmt::format(format, std::forward<Args>(args)...));
}

Result<void> check_replication(const KafkaTopicFacts& topic) {
  if (topic.replicas < kKafkaReplicasMin) {
    return wrong(topic,
                 "it has {} replicas, and a lost broker loses nothing with {}: make it with more, or say "
                 "--allow-unreplicated",
                 topic.replicas, kKafkaReplicasMin);
  }
  if (topic.number("min.insync.replicas") < kKafkaInSyncMin) {
    return wrong(topic, "min.insync.replicas is {}: set it to {}, or say --allow-unreplicated",
                 topic.setting("min.insync.replicas"), kKafkaInSyncMin);
  }
  return {};
}

/// Those that the sink sets itself, and those that would make it lose, repeat or reorder records.
constexpr std::array<std::string_view, 23> kOwnProperties = {"acks",
                                                             "allow.auto.create.topics",
                                                             "auto.offset.reset",
                                                             "bootstrap.servers",
                                                             "delivery.timeout.ms",
                                                             "delivery.report.only.error",
                                                             "enable.gapless.guarantee",
                                                             "enable.idempotence",
                                                             "enable.partition.eof",
                                                             "enqueue.coordinator.locally",
                                                             "group.id",
                                                             "isolation.level",
                                                             "log.queue",
                                                             "max.in.flight",
                                                             "max.in.flight.requests.per.connection",
                                                             "message.send.max.retries",
                                                             "message.timeout.ms",
                                                             "metadata.broker.list",
                                                             "partitioner",
                                                             "queuing.strategy",
                                                             "request.required.acks",
                                                             "retries",
                                                             "transactional.id"};

}  // namespace

std::string_view KafkaTopicFacts::setting(std::string_view key) const {
  const auto place = settings.find(key);
  return place == settings.end() ? std::string_view() : std::string_view(place->second);
}

std::int64_t KafkaTopicFacts::number(std::string_view key) const {
  std::int64_t value = 0;
  return parse_integer(setting(key), value) ? value : 0;
}

Result<void> check_kafka_topic(KafkaRole role, const KafkaTopicFacts& topic, bool allow_unreplicated) {
  if (!topic.exists) return wrong(topic, "it does not exist; holdfastctl topic create makes it");
  if (!allow_unreplicated) HOLDFAST_TRY(check_replication(topic));
  if (topic.setting("unclean.leader.election.enable") == "true") {
    return wrong(topic,
                 "unclean.leader.election.enable is true: a broker that lacks records may lead it; set it to false");
  }
  const std::string_view cleanup = topic.setting("cleanup.policy");
  if (role != KafkaRole::cursor) {
    if (cleanup == "delete") return {};
    return wrong(topic, "cleanup.policy is '{}', and all records of an item have one key: set it to delete", cleanup);
  }
  if (cleanup != "compact") {
    return wrong(topic, "cleanup.policy is '{}', and the cursor must not age away: set it to compact", cleanup);
  }
  if (topic.partitions != 1) {
    return wrong(topic, "it has {} partitions, and cursors have an order in one only: make it with 1",
                 topic.partitions);
  }
  return {};
}

Result<void> check_kafka_broker(const std::map<std::string, std::string, std::less<>>& settings) {
  if (settings.contains(kKafkaVerifiesPartitions)) return {};
  return Error::format(ErrorCode::unsupported,
                       "kafka: the broker has no {}, which those from 3.6 on have: older ones may leave a transaction "
                       "open for ever; update it",
                       kKafkaVerifiesPartitions);
}

Result<void> check_kafka_partitions(const KafkaCursor& written, const KafkaTopicFacts& topic, bool accept) {
  const auto place = written.topics.find(topic.name);
  if (accept || place == written.topics.end() || place->second.size() == topic.partitions) return {};
  return Error::format(
      ErrorCode::damaged,
      "kafka: topic {} has {} partitions, and had {} when the sink last wrote: items move to others, and "
      "their older records stay; when consumers have read those, say --accept-partitions",
      topic.name, topic.partitions, place->second.size());
}

Result<void> check_kafka_topic_known(const KafkaCursor& written, const std::string& topic) {
  if (written.cursor.lsn == Lsn() || written.topics.contains(topic)) return {};
  return Error::format(
      ErrorCode::damaged,
      "kafka: the sink is at LSN {} and did not write to topic {} when it last wrote: it would begin there in the "
      "middle; name the topic that it had, or run holdfast-relay bootstrap --set-aside, which goes on from a snapshot",
      written.cursor.lsn.value(), topic);
}

Result<void> check_kafka_ends(const KafkaCursor& written, const std::string& topic,
                              std::span<const std::int64_t> ends) {
  const auto place = written.topics.find(topic);
  if (place == written.topics.end()) return {};
  const std::size_t count = std::min(ends.size(), place->second.size());
  for (std::size_t partition = 0; partition < count; ++partition) {
    if (ends[partition] >= place->second[partition]) continue;
    return Error::format(
        ErrorCode::damaged,
        "kafka: partition {} of topic {} ends at offset {}, and the sink wrote up to {}: the topic was "
        "deleted and made anew, or lost records; run holdfast-relay bootstrap --set-aside, which goes on "
        "from a snapshot, and reconcile",
        partition, topic, ends[partition], place->second[partition]);
  }
  return {};
}

bool kafka_taken_over(const std::optional<KafkaCursor>& found, const std::string& owner, Epoch epoch) noexcept {
  return epoch > Epoch() && found && found->owner != owner && found->cursor.epoch > epoch;
}

std::size_t kafka_batch_bytes(std::span<const KafkaTopicFacts> topics) {
  std::size_t bytes = kKafkaBatchBytes;
  for (const KafkaTopicFacts& each : topics)
    bytes = std::min(bytes, static_cast<std::size_t>(std::max<std::int64_t>(each.number("max.message.bytes"), 1)));
  return bytes;
}

ErrorCode kafka_error_code(int code) noexcept {
  switch (code) {
    case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_TRANSACTIONAL_ID_AUTHORIZATION_FAILED:
      return ErrorCode::no_perm;
    case RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE:
    case RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE:
    case RD_KAFKA_RESP_ERR_INVALID_RECORD:
    case RD_KAFKA_RESP_ERR_INVALID_TRANSACTION_TIMEOUT:
    case RD_KAFKA_RESP_ERR_POLICY_VIOLATION:
    case RD_KAFKA_RESP_ERR_UNSUPPORTED_VERSION:
    case RD_KAFKA_RESP_ERR_UNSUPPORTED_COMPRESSION_TYPE:
    case RD_KAFKA_RESP_ERR__UNSUPPORTED_FEATURE:
      return ErrorCode::unsupported;
    case RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION:
      return ErrorCode::bad_option;
    default:
      return ErrorCode::io_failed;
  }
}

std::string_view kafka_error_hint(int code) noexcept {
  switch (code) {
    case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
      return "give its user Read, Write, Describe and DescribeConfigs of the topics";
    case RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED:
      return "give its user DescribeConfigs of the cluster";
    case RD_KAFKA_RESP_ERR_TRANSACTIONAL_ID_AUTHORIZATION_FAILED:
      return "give its user Write and Describe of the transactional id";
    case RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION:
      return "a topic's name has at most 249 of a-z A-Z 0-9 . _ -";
    case RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE:
    case RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE:
      return "raise max.message.bytes of the topic; nothing is left out";
    case RD_KAFKA_RESP_ERR_INVALID_TRANSACTION_TIMEOUT:
      return "lower --kafka-property transaction.timeout.ms, or raise the broker's transaction.max.timeout.ms";
    case RD_KAFKA_RESP_ERR__AUTHENTICATION:
    case RD_KAFKA_RESP_ERR_SASL_AUTHENTICATION_FAILED:
      return "its user or password is refused; set them right";
    default:
      return {};
  }
}

bool kafka_property_is_free(std::string_view name) noexcept {
  return std::find(kOwnProperties.begin(), kOwnProperties.end(), name) == kOwnProperties.end();
}

}  // namespace holdfast
