#include "replication/kafka_reader.h"

#include "replication/kafka_owned.h"
#include "replication/limits.h"

#include <librdkafka/rdkafka.h>

#include <chrono>

namespace holdfast {
namespace {

using Steady = std::chrono::steady_clock;
using OwnedTopic = KafkaOwned<rd_kafka_topic_t, rd_kafka_topic_destroy>;
using OwnedMessage = KafkaOwned<rd_kafka_message_t, rd_kafka_message_destroy>;

constexpr int kAnswerMs = static_cast<int>(kKafkaAnswerTime.count());
constexpr const char* kFetchWaitMs = "20";  // so long a broker waits before it says that there is no more
constexpr int kWaitMs = 100;                // of one call, in a loop that has a bound of its own

std::string text_of(const void* bytes, std::size_t size) {
  return bytes == nullptr ? std::string() : std::string(static_cast<const char*>(bytes), size);
}

/// Of connections, not of the partition: it is tried again.
bool of_connections(rd_kafka_resp_err_t code) noexcept {
  return code == RD_KAFKA_RESP_ERR__TRANSPORT || code == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN;
}

KafkaMessage message_of(const rd_kafka_message_t& from) {
  KafkaMessage message;
  message.place = {from.partition, from.offset};
  rd_kafka_timestamp_type_t type{};
  message.at = wall_time(rd_kafka_message_timestamp(&from, &type));
  message.key = text_of(from.key, from.key_len);
  if (from.payload != nullptr) message.value = text_of(from.payload, from.len);
  rd_kafka_headers_t* headers = nullptr;
  if (rd_kafka_message_headers(&from, &headers) != RD_KAFKA_RESP_ERR_NO_ERROR) return message;
  const char* name = nullptr;
  const void* value = nullptr;
  std::size_t size = 0;
  for (std::size_t i = 0; rd_kafka_header_get_all(headers, i, &name, &value, &size) == RD_KAFKA_RESP_ERR_NO_ERROR; ++i)
    message.headers.push_back({name, text_of(value, size)});
  return message;
}

}  // namespace

class KafkaReader::Impl {
 public:
  Result<void> connect(const KafkaAccess& access) {
    interrupt_ = access.interrupt;
    auto conf = make_kafka_conf(
        access, {{"fetch.wait.max.ms", kFetchWaitMs}},
        {{"isolation.level", "read_committed"}, {"enable.partition.eof", "true"}, {"auto.offset.reset", "error"}},
        trouble_);
    if (!conf) return conf.error();
    auto client = make_kafka_consumer(std::move(*conf));
    if (!client) return client.error();
    client_ = std::move(*client);
    return {};
  }

  Result<Bounds> bounds(const std::string& topic, std::int32_t partition) {
    HOLDFAST_TRY(check_interrupt(interrupt_));
    Bounds found;
    const auto code =
        rd_kafka_query_watermark_offsets(client_.get(), topic.c_str(), partition, &found.first, &found.end, kAnswerMs);
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR) return kafka_failed("topic " + topic, code, {}, trouble_.take());
    return found;
  }

  Result<void> read(const std::string& name, KafkaPlace from, std::int64_t end, const KafkaMessageVisitor& visitor) {
    if (from.offset >= end) return {};
    const OwnedTopic topic(rd_kafka_topic_new(client_.get(), name.c_str(), nullptr));
    if (rd_kafka_consume_start(topic.get(), from.partition, from.offset) != 0)
      return kafka_failed("topic " + name, rd_kafka_last_error(), {}, trouble_.take());
    const auto result = read_to(topic.get(), name, from.partition, end, visitor);
    rd_kafka_consume_stop(topic.get(), from.partition);
    return result;
  }

 private:
  Result<void> read_to(rd_kafka_topic_t* topic, const std::string& name, std::int32_t partition, std::int64_t end,
                       const KafkaMessageVisitor& visitor) {
    auto heard = Steady::now();
    while (true) {
      HOLDFAST_TRY(check_interrupt(interrupt_));
      const OwnedMessage message(rd_kafka_consume(topic, partition, kWaitMs));
      if (message == nullptr || of_connections(message->err)) {
        if (Steady::now() - heard < kKafkaAnswerTime) continue;
        return kafka_failed(
            "the end of topic " + name + " does not come: a transaction in it has not ended, or its broker is away",
            RD_KAFKA_RESP_ERR__TIMED_OUT, {}, trouble_.take());
      }
      const bool at_end = message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF;
      if (!at_end && message->err != RD_KAFKA_RESP_ERR_NO_ERROR) return kafka_failed("topic " + name, message->err);
      if (message->offset >= end) return {};
      if (!at_end) {
        const auto more = visitor(message_of(*message));
        if (!more) return more.error();
        if (!*more || message->offset + 1 == end) return {};
      }
      heard = Steady::now();
    }
  }

  KafkaTrouble trouble_;  // outlives the client
  KafkaHandle client_;
  const KafkaInterrupt* interrupt_ = nullptr;
};

KafkaReader::KafkaReader(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
KafkaReader::~KafkaReader() = default;

Result<std::unique_ptr<KafkaReader>> KafkaReader::connect(const KafkaAccess& access) {
  auto impl = std::make_unique<Impl>();
  HOLDFAST_TRY(impl->connect(access));
  return std::unique_ptr<KafkaReader>(new KafkaReader(std::move(impl)));
}

Result<KafkaReader::Bounds> KafkaReader::bounds(const std::string& topic, std::int32_t partition) {
  return impl_->bounds(topic, partition);
}

Result<void> KafkaReader::read(const std::string& topic, KafkaPlace from, std::int64_t end,
                               const KafkaMessageVisitor& visitor) {
  return impl_->read(topic, from, end, visitor);
}

Result<void> read_kafka_topic(const KafkaAccess& access, KafkaLook& look, const std::string& topic,
                              const KafkaVisitor& visitor) {
  const auto ends = look.ends(topic, 1);
  if (!ends) return ends.error();
  const auto reader = KafkaReader::connect(access);
  if (!reader) return reader.error();
  const auto bounds = (*reader)->bounds(topic, 0);
  if (!bounds) return bounds.error();
  return (*reader)->read(topic, {0, bounds->first}, ends->front(), [&](KafkaMessage&& message) -> Result<bool> {
    std::optional<std::string_view> value;
    if (message.value) value = *message.value;
    if (const auto taken = visitor(message.key, value); !taken) {
      return Error::format(taken.error().code(), "kafka: topic {}, offset {}: {}", topic, message.place.offset,
                           taken.error().text());
    }
    return true;
  });
}

}  // namespace holdfast
