#include "replication/kafka_look.h"

#include "replication/kafka_owned.h"
#include "replication/limits.h"

#include <librdkafka/rdkafka.h>

#include <algorithm>
#include <chrono>

namespace holdfast {
namespace {

using Steady = std::chrono::steady_clock;

constexpr int kAnswerMs = static_cast<int>(kKafkaAnswerTime.count());
constexpr int kWaitMs = 100;  // of one call, in a loop that has a bound of its own

using OwnedTopic = KafkaOwned<rd_kafka_topic_t, rd_kafka_topic_destroy>;
using OwnedQueue = KafkaOwned<rd_kafka_queue_t, rd_kafka_queue_destroy>;
using OwnedEvent = KafkaOwned<rd_kafka_event_t, rd_kafka_event_destroy>;
using OwnedResource = KafkaOwned<rd_kafka_ConfigResource_t, rd_kafka_ConfigResource_destroy>;
using OwnedMetadata = KafkaOwned<const struct rd_kafka_metadata, rd_kafka_metadata_destroy>;

std::map<std::string, std::string, std::less<>> settings_in(const rd_kafka_ConfigResource_t* resource) {
  std::map<std::string, std::string, std::less<>> settings;
  std::size_t count = 0;
  const rd_kafka_ConfigEntry_t** const entries = rd_kafka_ConfigResource_configs(resource, &count);
  for (std::size_t i = 0; i < count; ++i) {
    const char* const value = rd_kafka_ConfigEntry_value(entries[i]);
    settings.emplace(rd_kafka_ConfigEntry_name(entries[i]), value == nullptr ? "" : value);
  }
  return settings;
}

}  // namespace

class KafkaLook::Impl {
 public:
  Result<void> connect(const KafkaAccess& access) {
    interrupt_ = access.interrupt;
    auto conf = make_kafka_conf(access, {}, {{"isolation.level", "read_uncommitted"}}, trouble_);
    if (!conf) return conf.error();
    auto client = make_kafka_consumer(std::move(*conf));
    if (!client) return client.error();
    client_ = std::move(*client);
    return {};
  }

  Result<OwnedMetadata> metadata(const std::string& topic) {
    HOLDFAST_TRY(check_interrupt(interrupt_));
    const OwnedTopic handle(rd_kafka_topic_new(client_.get(), topic.c_str(), nullptr));
    const struct rd_kafka_metadata* found = nullptr;
    const auto code = rd_kafka_metadata(client_.get(), 0, handle.get(), &found, kAnswerMs);
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR) return kafka_failed("the brokers do not answer", code, {}, trouble_.take());
    if (found->broker_cnt > 0) broker_ = std::to_string(found->brokers[0].id);
    return OwnedMetadata(found);
  }

  using TakeSettings = std::function<void(std::size_t, std::map<std::string, std::string, std::less<>>)>;
  Result<void> describe(rd_kafka_ResourceType_t type, const std::vector<std::string>& names, const TakeSettings& take) {
    std::vector<OwnedResource> owned;
    std::vector<rd_kafka_ConfigResource_t*> resources;
    for (const std::string& name : names) {
      owned.emplace_back(rd_kafka_ConfigResource_new(type, name.c_str()));
      resources.push_back(owned.back().get());
    }
    const OwnedQueue queue(rd_kafka_queue_new(client_.get()));
    rd_kafka_DescribeConfigs(client_.get(), resources.data(), resources.size(), nullptr, queue.get());
    OwnedEvent event;
    for (const auto until = Steady::now() + 2 * kKafkaAnswerTime; event == nullptr && Steady::now() < until;) {
      HOLDFAST_TRY(check_interrupt(interrupt_));
      event.reset(rd_kafka_queue_poll(queue.get(), kWaitMs));
    }
    if (event == nullptr) return kafka_failed("settings", RD_KAFKA_RESP_ERR__TIMED_OUT, {}, trouble_.take());
    if (const auto code = rd_kafka_event_error(event.get())) return kafka_failed("settings", code, {}, trouble_.take());
    std::size_t count = 0;
    const auto* const result = rd_kafka_event_DescribeConfigs_result(event.get());
    const auto* const* const found = rd_kafka_DescribeConfigs_result_resources(result, &count);
    for (std::size_t i = 0; i < count; ++i) {
      const std::string name = rd_kafka_ConfigResource_name(found[i]);
      if (const auto code = rd_kafka_ConfigResource_error(found[i])) return kafka_failed("settings of " + name, code);
      const auto place = std::find(names.begin(), names.end(), name);
      if (place != names.end()) take(static_cast<std::size_t>(place - names.begin()), settings_in(found[i]));
    }
    return {};
  }

  Result<std::int64_t> end(const std::string& topic, std::int32_t partition) {
    HOLDFAST_TRY(check_interrupt(interrupt_));
    std::int64_t low = 0, high = 0;
    const auto code = rd_kafka_query_watermark_offsets(client_.get(), topic.c_str(), partition, &low, &high, kAnswerMs);
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR) return kafka_failed("the end of topic " + topic, code, {}, trouble_.take());
    return high;
  }

  const std::string& broker() const noexcept { return broker_; }

 private:
  KafkaTrouble trouble_;  // outlives the client
  KafkaHandle client_;
  const KafkaInterrupt* interrupt_ = nullptr;
  std::string broker_;  // one of the cluster's
};

KafkaLook::KafkaLook(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
KafkaLook::~KafkaLook() = default;

Result<std::unique_ptr<KafkaLook>> KafkaLook::connect(const KafkaAccess& access) {
  auto impl = std::make_unique<Impl>();
  HOLDFAST_TRY(impl->connect(access));
  return std::unique_ptr<KafkaLook>(new KafkaLook(std::move(impl)));
}

Result<KafkaTopicFacts> KafkaLook::topic(const std::string& name) {
  const auto metadata = impl_->metadata(name);
  if (!metadata) return metadata.error();
  KafkaTopicFacts facts;
  facts.name = name;
  if ((*metadata)->topic_cnt == 0) return facts;
  const rd_kafka_metadata_topic_t& topic = (*metadata)->topics[0];
  if (topic.err == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART) return facts;
  if (topic.err != RD_KAFKA_RESP_ERR_NO_ERROR && topic.err != RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE) {
    return kafka_failed("topic " + name, topic.err);
  }
  facts.exists = true;
  facts.partitions = static_cast<std::size_t>(topic.partition_cnt);
  for (std::size_t i = 0; i < facts.partitions; ++i) {
    const auto replicas = static_cast<std::size_t>(topic.partitions[i].replica_cnt);
    facts.replicas = i == 0 ? replicas : std::min(facts.replicas, replicas);
  }
  return facts;
}

Result<void> KafkaLook::settings(std::span<KafkaTopicFacts> topics) {
  std::vector<std::string> names;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < topics.size(); ++i) {
    if (!topics[i].exists) continue;
    names.push_back(topics[i].name);
    places.push_back(i);
  }
  if (names.empty()) return {};
  return impl_->describe(RD_KAFKA_RESOURCE_TOPIC, names,
                         [&](std::size_t i, auto settings) { topics[places[i]].settings = std::move(settings); });
}

Result<std::map<std::string, std::string, std::less<>>> KafkaLook::broker_settings() {
  // One that is about to come back answers, and knows of none yet, not even of itself.
  if (impl_->broker().empty()) return kafka_failed("the cluster", RD_KAFKA_RESP_ERR_BROKER_NOT_AVAILABLE);
  std::map<std::string, std::string, std::less<>> settings;
  HOLDFAST_TRY(impl_->describe(RD_KAFKA_RESOURCE_BROKER, {impl_->broker()},
                               [&](std::size_t, auto found) { settings = std::move(found); }));
  return settings;
}

Result<std::vector<std::int64_t>> KafkaLook::ends(const std::string& topic, std::size_t partitions) {
  std::vector<std::int64_t> ends;
  for (std::size_t partition = 0; partition < partitions; ++partition) {
    const auto end = impl_->end(topic, static_cast<std::int32_t>(partition));
    if (!end) return end.error();
    ends.push_back(*end);
  }
  return ends;
}

}  // namespace holdfast
