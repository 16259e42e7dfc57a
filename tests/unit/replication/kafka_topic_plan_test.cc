#include "replication/kafka_topic_plan.h"

#include "tests/doctest.h"

using namespace holdfast;

namespace {

/// The topic that the brokers make of a plan.
KafkaTopicFacts made(const KafkaTopicPlan& plan) {
  KafkaTopicFacts facts;
  facts.name = plan.name;
  facts.exists = true;
  facts.partitions = plan.partitions;
  facts.replicas = plan.replicas;
  for (const KafkaTopicSetting& each : plan.settings) facts.settings[each.name] = each.value;
  return facts;
}

KafkaTopicWishes replicas(std::size_t count) {
  KafkaTopicWishes wishes;
  wishes.replicas = count;
  return wishes;
}

std::string difference(const KafkaTopicPlan& plan, const KafkaTopicFacts& facts) {
  std::string text;
  for (const KafkaTopicDifference& each : compare_kafka_topic(plan, facts))
    text += each.what + ": " + each.is + "; " + each.wanted + "; " + each.set_to + "\n";
  return text;
}

}  // namespace

TEST_CASE("kafka_topic_plan: what is made is as it should be, also to the sink") {
  const auto orders = plan_kafka_topic(KafkaTopicKind::published, "orders", {});
  const auto cursor = plan_kafka_topic(KafkaTopicKind::cursor, "cursors", {});
  const auto dead = plan_kafka_topic(KafkaTopicKind::dead_letters, "orders.DLT", {});
  for (const auto& plan : {orders, cursor, dead}) CHECK(compare_kafka_topic(plan, made(plan)).empty());
  CHECK(check_kafka_topic(KafkaRole::orders, made(orders), false).has_value());
  CHECK(check_kafka_topic(KafkaRole::cursor, made(cursor), false).has_value());
  CHECK(cursor.partitions == 1);
  CHECK(dead.partitions == orders.partitions);  // some consumers keep a record's partition
  CHECK(made(dead).number("retention.ms") > made(orders).number("retention.ms"));
}

TEST_CASE("kafka_topic_plan: fewer replicas are in sync with less") {
  for (const auto& [count, in_sync] : {std::pair{1, 1}, {2, 1}, {3, 2}, {5, 2}}) {
    const auto plan = plan_kafka_topic(KafkaTopicKind::published, "orders", replicas(static_cast<std::size_t>(count)));
    CHECK(made(plan).number("min.insync.replicas") == in_sync);
  }
}

TEST_CASE("kafka_topic_plan: what a topic has more of than wanted is no difference") {
  KafkaTopicWishes wishes;
  wishes.retention_ms = 1000;
  const auto plan = plan_kafka_topic(KafkaTopicKind::published, "orders", wishes);
  auto facts = made(plan);
  facts.replicas = 5;
  facts.partitions = 7;  // nobody asked for a count
  facts.settings["min.insync.replicas"] = "3";
  for (const char* const retention : {"1000", "1001", "-1"}) {
    facts.settings["retention.ms"] = retention;
    CHECK(difference(plan, facts).empty());
  }
  const auto cursor = plan_kafka_topic(KafkaTopicKind::cursor, "cursors", {});
  facts = made(cursor);
  facts.settings["segment.bytes"] = "1048576";
  CHECK(difference(cursor, facts).empty());
}

TEST_CASE("kafka_topic_plan: each difference, with the value that mends it") {
  KafkaTopicWishes wishes;
  wishes.partitions = 24;
  wishes.retention_ms = -1;
  const auto plan = plan_kafka_topic(KafkaTopicKind::published, "orders", wishes);
  auto facts = made(plan);
  facts.partitions = 12;
  facts.replicas = 1;
  facts.settings = {{"cleanup.policy", "compact"},
                    {"min.insync.replicas", "1"},
                    {"unclean.leader.election.enable", "true"},
                    {"retention.ms", "9"}};
  CHECK(difference(plan, facts) ==
        "partitions: 12; 24; \n"
        "replicas: 1; at least 3; \n"
        "cleanup.policy: compact; delete; delete\n"
        "min.insync.replicas: 1; at least 2; \n"  // of one replica, two would stop all writing
        "unclean.leader.election.enable: true; false; false\n"
        "retention.ms: 9; -1, for ever; -1\n");
  facts.replicas = 3;
  facts.settings.erase("retention.ms");
  CHECK(difference(plan, facts).find("min.insync.replicas: 1; at least 2; 2\n") != std::string::npos);
  CHECK(difference(plan, facts).find("retention.ms: ; -1, for ever; -1\n") != std::string::npos);
  const auto cursor = plan_kafka_topic(KafkaTopicKind::cursor, "cursors", {});
  facts = made(cursor);
  facts.partitions = 3;
  facts.settings["segment.bytes"] = "1073741824";
  CHECK(difference(cursor, facts) == "partitions: 3; 1; \nsegment.bytes: 1073741824; at most 16777216; 16777216\n");
}
