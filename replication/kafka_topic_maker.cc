#include "replication/kafka_topic_maker.h"

#include "replication/kafka_owned.h"
#include "replication/limits.h"

#include <librdkafka/rdkafka.h>

#include <algorithm>
#include <array>

namespace holdfast {
namespace {

using OwnedNewTopic = KafkaOwned<rd_kafka_NewTopic_t, rd_kafka_NewTopic_destroy>;
using OwnedOptions = KafkaOwned<rd_kafka_AdminOptions_t, rd_kafka_AdminOptions_destroy>;
using OwnedQueue = KafkaOwned<rd_kafka_queue_t, rd_kafka_queue_destroy>;
using OwnedEvent = KafkaOwned<rd_kafka_event_t, rd_kafka_event_destroy>;
using Reason = std::array<char, 256>;

constexpr int kAnswerMs = static_cast<int>(kKafkaAnswerTime.count());

Result<OwnedNewTopic> new_topic(const KafkaTopicPlan& plan) {
  Reason reason{};
  OwnedNewTopic topic(rd_kafka_NewTopic_new(plan.name.c_str(), static_cast<int>(plan.partitions),
                                            static_cast<int>(plan.replicas), reason.data(), reason.size()));
  if (topic == nullptr)
    return Error::format(ErrorCode::bad_option, "kafka: topic '{}': {}", Echo(plan.name).text(), reason.data());
  for (const KafkaTopicSetting& each : plan.settings) {
    const auto code = rd_kafka_NewTopic_set_config(topic.get(), each.name.c_str(), each.value.c_str());
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR) return kafka_failed("setting " + each.name, code);
  }
  return topic;
}

Result<OwnedOptions> options_of(rd_kafka_t* client, bool only_ask) {
  Reason reason{};
  OwnedOptions options(rd_kafka_AdminOptions_new(client, RD_KAFKA_ADMIN_OP_CREATETOPICS));
  auto code = rd_kafka_AdminOptions_set_operation_timeout(options.get(), kAnswerMs, reason.data(), reason.size());
  if (code == RD_KAFKA_RESP_ERR_NO_ERROR)
    code = rd_kafka_AdminOptions_set_request_timeout(options.get(), 2 * kAnswerMs, reason.data(), reason.size());
  if (code == RD_KAFKA_RESP_ERR_NO_ERROR)
    code = rd_kafka_AdminOptions_set_validate_only(options.get(), only_ask ? 1 : 0, reason.data(), reason.size());
  if (code != RD_KAFKA_RESP_ERR_NO_ERROR) return kafka_failed("options", code, reason.data());
  return options;
}

KafkaTopicMade made_of(const rd_kafka_topic_result_t* result) {
  const auto code = rd_kafka_topic_result_error(result);
  if (code == RD_KAFKA_RESP_ERR_NO_ERROR) return {true, false, ""};
  if (code == RD_KAFKA_RESP_ERR_TOPIC_ALREADY_EXISTS) return {false, true, ""};
  const char* const text = rd_kafka_topic_result_error_string(result);
  return {false, false, text == nullptr ? rd_kafka_err2str(code) : text};
}

}  // namespace

Result<std::vector<KafkaTopicMade>> make_kafka_topics(const KafkaAccess& access, std::span<const KafkaTopicPlan> plans,
                                                      bool only_ask) {
  KafkaTrouble trouble;
  auto conf = make_kafka_conf(access, {}, {}, trouble);
  if (!conf) return conf.error();
  const auto client = make_kafka_producer(std::move(*conf));
  if (!client) return client.error();
  std::vector<OwnedNewTopic> owned;
  std::vector<rd_kafka_NewTopic_t*> topics;
  for (const KafkaTopicPlan& plan : plans) {
    auto topic = new_topic(plan);
    if (!topic) return topic.error();
    topics.push_back(topic->get());
    owned.push_back(std::move(*topic));
  }
  const auto options = options_of(client->get(), only_ask);
  if (!options) return options.error();
  const OwnedQueue queue(rd_kafka_queue_new(client->get()));
  rd_kafka_CreateTopics(client->get(), topics.data(), topics.size(), options->get(), queue.get());
  const OwnedEvent event(rd_kafka_queue_poll(queue.get(), 4 * kAnswerMs));
  if (event == nullptr) return kafka_failed("making topics", RD_KAFKA_RESP_ERR__TIMED_OUT, {}, trouble.take());
  if (const auto code = rd_kafka_event_error(event.get())) {
    return kafka_failed("making topics", code, rd_kafka_event_error_string(event.get()), trouble.take());
  }
  std::size_t count = 0;
  const auto* const result = rd_kafka_event_CreateTopics_result(event.get());
  const auto* const* const answers = rd_kafka_CreateTopics_result_topics(result, &count);
  std::vector<KafkaTopicMade> made(plans.size());
  for (std::size_t i = 0; i < count; ++i) {
    const auto place = std::find_if(plans.begin(), plans.end(), [&](const KafkaTopicPlan& plan) {
      return plan.name == rd_kafka_topic_result_name(answers[i]);
    });
    if (place != plans.end()) made[static_cast<std::size_t>(place - plans.begin())] = made_of(answers[i]);
  }
  return made;
}

}  // namespace holdfast
