#include "replication/kafka_checks.h"

#include "replication/limits.h"

#include <librdkafka/rdkafka.h>

#include "tests/doctest.h"

using namespace holdfast;

namespace {

KafkaTopicFacts good(KafkaRole role) {
  KafkaTopicFacts topic;
  topic.name = "t";
  topic.exists = true;
  topic.partitions = role == KafkaRole::cursor ? 1 : 6;
  topic.replicas = 3;
  topic.settings = {{"min.insync.replicas", "2"},
                    {"unclean.leader.election.enable", "false"},
                    {"cleanup.policy", role == KafkaRole::cursor ? "compact" : "delete"}};
  return topic;
}

std::string refusal(KafkaRole role, const KafkaTopicFacts& topic, bool allow_unreplicated = false) {
  const auto checked = check_kafka_topic(role, topic, allow_unreplicated);
  if (checked) return "";
  CHECK(checked.error().code() == ErrorCode::unsupported);
  return std::string(checked.error().text());
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

const KafkaCursor kWritten{{LogId{1}, Lsn(10), Epoch(2)}, "me", {{"t", {100, 0}}}, {}, {}};

}  // namespace

TEST_CASE("kafka_checks: topics are refused whose settings would lose or reorder records") {
  for (const KafkaRole role : {KafkaRole::orders, KafkaRole::events, KafkaRole::cursor}) {
    CHECK(refusal(role, good(role)).empty());
    auto topic = good(role);
    topic.exists = false;
    CHECK(has(refusal(role, topic), "does not exist"));
    topic = good(role);
    topic.replicas = 2;
    CHECK(has(refusal(role, topic), "2 replicas"));
    CHECK(refusal(role, topic, true).empty());
    topic = good(role);
    topic.settings["min.insync.replicas"] = "1";
    CHECK(has(refusal(role, topic), "min.insync.replicas is 1"));
    CHECK(refusal(role, topic, true).empty());
    topic = good(role);
    topic.settings["unclean.leader.election.enable"] = "true";
    CHECK(has(refusal(role, topic, true), "unclean"));
  }
}

TEST_CASE("kafka_checks: the cursor's topic is compacted and has one partition, the others only age") {
  for (const std::string policy : {"compact", "delete", "compact,delete", ""}) {
    auto cursor = good(KafkaRole::cursor), events = good(KafkaRole::events);
    cursor.settings["cleanup.policy"] = events.settings["cleanup.policy"] = policy;
    CHECK(refusal(KafkaRole::cursor, cursor).empty() == (policy == "compact"));
    CHECK(refusal(KafkaRole::events, events).empty() == (policy == "delete"));
  }
  auto cursor = good(KafkaRole::cursor);
  cursor.partitions = 2;
  CHECK(has(refusal(KafkaRole::cursor, cursor), "2 partitions"));
}

TEST_CASE("kafka_checks: brokers before 3.6 are refused") {
  CHECK(check_kafka_broker({{std::string(kKafkaVerifiesPartitions), "true"}}).has_value());
  CHECK_FALSE(check_kafka_broker({{"transaction.max.timeout.ms", "1"}}).has_value());
}

TEST_CASE("kafka_checks: a changed count of partitions stops the sink unless it was said to be right") {
  KafkaTopicFacts topic;
  topic.name = "t";
  topic.partitions = 2;
  CHECK(check_kafka_partitions(kWritten, topic, false).has_value());
  topic.partitions = 3;
  const auto checked = check_kafka_partitions(kWritten, topic, false);
  REQUIRE_FALSE(checked.has_value());
  CHECK(checked.error().code() == ErrorCode::damaged);
  CHECK(has(std::string(checked.error().text()), "--accept-partitions"));
  CHECK(check_kafka_partitions(kWritten, topic, true).has_value());
  topic.name = "new";  // nothing was written there
  CHECK(check_kafka_partitions(kWritten, topic, false).has_value());
}

TEST_CASE("kafka_checks: a sink that has written does not begin in another topic unasked") {
  CHECK(check_kafka_topic_known(kWritten, "t").has_value());
  const auto checked = check_kafka_topic_known(kWritten, "new");
  REQUIRE_FALSE(checked.has_value());
  CHECK(checked.error().code() == ErrorCode::damaged);
  CHECK(has(std::string(checked.error().text()), "did not write to topic new"));
  KafkaCursor unwritten = kWritten;
  unwritten.cursor.lsn = Lsn();
  CHECK(check_kafka_topic_known(unwritten, "new").has_value());
}

TEST_CASE("kafka_checks: a topic that ends before what was written there is not the one that was written to") {
  const auto holds = [](std::vector<std::int64_t> ends) { return check_kafka_ends(kWritten, "t", ends).has_value(); };
  CHECK(holds({100, 0}));
  CHECK(holds({101, 7, 3}));
  CHECK_FALSE(holds({99, 7}));
  CHECK_FALSE(holds({0, 0}));
  CHECK(check_kafka_ends(kWritten, "new", std::vector<std::int64_t>{0}).has_value());
}

TEST_CASE("kafka_checks: only another relay's higher epoch has taken a sink over") {
  CHECK(kafka_taken_over(kWritten, "other", Epoch(1)));
  CHECK_FALSE(kafka_taken_over(kWritten, "me", Epoch(1)));
  CHECK_FALSE(kafka_taken_over(kWritten, "other", Epoch(2)));
  CHECK_FALSE(kafka_taken_over(kWritten, "other", Epoch()));  // this one takes it over now
  CHECK_FALSE(kafka_taken_over(std::nullopt, "other", Epoch(1)));
}

TEST_CASE("kafka_checks: waiting helps, but not against rights, sizes and versions") {
  for (const int code : {RD_KAFKA_RESP_ERR__TIMED_OUT, RD_KAFKA_RESP_ERR__TRANSPORT, RD_KAFKA_RESP_ERR__FENCED,
                         RD_KAFKA_RESP_ERR__MSG_TIMED_OUT, RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS,
                         RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART, RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH,
                         RD_KAFKA_RESP_ERR_SASL_AUTHENTICATION_FAILED, RD_KAFKA_RESP_ERR__AUTHENTICATION}) {
    CHECK(kafka_error_code(code) == ErrorCode::io_failed);
  }
  CHECK(kafka_error_code(RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED) == ErrorCode::no_perm);
  CHECK(kafka_error_code(RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE) == ErrorCode::unsupported);
  CHECK(kafka_error_code(RD_KAFKA_RESP_ERR_UNSUPPORTED_VERSION) == ErrorCode::unsupported);
  CHECK(has(std::string(kafka_error_hint(RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE)), "max.message.bytes"));
  CHECK(kafka_error_hint(RD_KAFKA_RESP_ERR__TRANSPORT).empty());
  CHECK(kafka_error_code(RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION) == ErrorCode::bad_option);
}

TEST_CASE("kafka_checks: a request holds no more than each of the topics takes") {
  std::vector<KafkaTopicFacts> topics(2);
  topics[0].settings["max.message.bytes"] = "1048588";
  topics[1].settings["max.message.bytes"] = "2097152";
  CHECK(kafka_batch_bytes(topics) == kKafkaBatchBytes);
  topics[1].settings["max.message.bytes"] = "5000";
  CHECK(kafka_batch_bytes(topics) == 5000);
  CHECK(kafka_batch_bytes({}) == kKafkaBatchBytes);
}

TEST_CASE("kafka_checks: properties on which exactly once rests are the sink's own") {
  for (const char* const name :
       {"acks", "enable.idempotence", "transactional.id", "isolation.level", "bootstrap.servers"}) {
    CHECK_FALSE(kafka_property_is_free(name));
  }
  for (const char* const name :
       {"security.protocol", "sasl.password", "ssl.ca.location", "compression.codec", "linger.ms"}) {
    CHECK(kafka_property_is_free(name));
  }
}
