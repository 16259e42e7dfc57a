#include "replication/kafka_topic_plan.h"

#include "protocol/names.h"

#include <fmt/format.h>

#include <limits>

namespace holdfast {
namespace {

constexpr std::size_t kPartitions = 12;  // divides among 2, 3, 4, 6 or 12 consumers
constexpr std::int64_t kRetentionMs = 7 * kDayMs;
constexpr std::string_view kInSync = "min.insync.replicas";
constexpr std::string_view kForEver = "-1";
constexpr std::int64_t kDeadLetterRetentionMs = 30 * kDayMs;  // a person has to look at them
// Only segments that are closed are compacted, and a relay reads all that is not when it starts.
constexpr std::int64_t kCursorSegmentBytes = 16LL * 1024 * 1024;

std::string wanted_words(const KafkaTopicSetting& setting) {
  if (setting.value == kForEver) return "-1, for ever";
  switch (setting.measure) {
    case KafkaMeasure::at_least:
      return "at least " + setting.value;
    case KafkaMeasure::at_most:
      return "at most " + setting.value;
    default:
      return setting.value;
  }
}

std::optional<std::int64_t> amount(std::string_view text) noexcept {
  if (text == kForEver) return std::numeric_limits<std::int64_t>::max();
  std::int64_t number = 0;
  if (!parse_integer(text, number)) return std::nullopt;
  return number;
}

bool holds(const KafkaTopicSetting& setting, std::string_view found) noexcept {
  if (setting.measure == KafkaMeasure::exactly) return found == setting.value;
  const auto is = amount(found), wanted = amount(setting.value);
  if (!is || !wanted) return false;
  return setting.measure == KafkaMeasure::at_least ? *is >= *wanted : *is <= *wanted;
}

std::int64_t in_sync(const KafkaTopicWishes& wishes) noexcept {
  return wishes.in_sync.value_or(wishes.replicas < kKafkaReplicasMin ? 1 : kKafkaInSyncMin);
}

}  // namespace

KafkaTopicPlan plan_kafka_topic(KafkaTopicKind kind, const std::string& name, const KafkaTopicWishes& wishes) {
  const bool cursor = kind == KafkaTopicKind::cursor;
  KafkaTopicPlan plan;
  plan.name = name;
  plan.partitions = cursor ? 1 : wishes.partitions.value_or(kPartitions);
  plan.partitions_wanted = cursor || wishes.partitions.has_value();
  plan.replicas = wishes.replicas;
  plan.settings = {{"cleanup.policy", cursor ? "compact" : "delete", KafkaMeasure::exactly},
                   {std::string(kInSync), std::to_string(in_sync(wishes)), KafkaMeasure::at_least},
                   {"unclean.leader.election.enable", "false", KafkaMeasure::exactly}};
  if (cursor) {
    plan.settings.push_back({"segment.bytes", std::to_string(kCursorSegmentBytes), KafkaMeasure::at_most});
    return plan;
  }
  const std::int64_t retention = kind == KafkaTopicKind::published ? kRetentionMs : kDeadLetterRetentionMs;
  plan.settings.push_back({"retention.ms", std::to_string(wishes.retention_ms.value_or(retention)),
                           KafkaMeasure::at_least, wishes.retention_ms.has_value()});
  return plan;
}

std::vector<KafkaTopicDifference> compare_kafka_topic(const KafkaTopicPlan& plan, const KafkaTopicFacts& facts) {
  std::vector<KafkaTopicDifference> found;
  if (plan.partitions_wanted && facts.partitions != plan.partitions) {
    found.push_back({"partitions", std::to_string(facts.partitions), std::to_string(plan.partitions), ""});
  }
  if (facts.replicas < plan.replicas) {
    found.push_back({"replicas", std::to_string(facts.replicas), fmt::format("at least {}", plan.replicas), ""});
  }
  for (const KafkaTopicSetting& each : plan.settings) {
    const std::string_view is = facts.setting(each.name);
    if (!each.wanted || holds(each, is)) continue;
    // More in sync than there are: nothing could be written.
    const bool mends = each.name != kInSync || *amount(each.value) <= static_cast<std::int64_t>(facts.replicas);
    found.push_back({each.name, std::string(is), wanted_words(each), mends ? each.value : ""});
  }
  return found;
}

}  // namespace holdfast
