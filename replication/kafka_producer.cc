#include "replication/kafka_producer.h"

#include "protocol/check.h"
#include "replication/kafka_owned.h"
#include "replication/limits.h"

#include <fmt/format.h>
#include <librdkafka/rdkafka.h>

#include <algorithm>
#include <chrono>

namespace holdfast {
namespace {

constexpr int kWaitMs = 100;                                 // of one call, in loops that have a bound of their own
constexpr int kSliceMs = 500;                                // of a call that goes on where it was
constexpr int kPollEvery = 256;                              // records
constexpr Millis kTakeOverTime = 2 * kKafkaTransactionTime;  // what an earlier producer left open is undone by then

using OwnedTopic = KafkaOwned<rd_kafka_topic_t, rd_kafka_topic_destroy>;
using OwnedError = KafkaOwned<rd_kafka_error_t, rd_kafka_error_destroy>;

}  // namespace

class KafkaProducer::Impl {
 public:
  Impl() = default;
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  /// After a failure records may still be under way. librdkafka 2.0.2 frees the text of a fatal error twice when the answer to
  /// one of them comes while the client is destroyed: what was not sent is dropped, and what was is waited for,
  /// unless interrupted.
  ~Impl() {
    if (client_ == nullptr) return;
    rd_kafka_purge(client_.get(), RD_KAFKA_PURGE_F_QUEUE);
    const auto until = std::chrono::steady_clock::now() + kKafkaDrainTime;
    while (under_way_ > 0 && check_interrupt(interrupt_) && std::chrono::steady_clock::now() < until) {
      rd_kafka_flush(client_.get(), kWaitMs);
    }
  }

  Result<void> take_over(const KafkaProducerSettings& settings, KafkaTargets targets) {
    targets_ = std::move(targets);
    interrupt_ = settings.access.interrupt;
    auto conf = make_kafka_conf(settings.access, defaults(settings),
                                {{"transactional.id", settings.transactional_id},
                                 {"enable.idempotence", "true"},
                                 {"acks", "all"},
                                 {"partitioner", "murmur2_random"}},
                                trouble_);
    if (!conf) return conf.error();
    rd_kafka_conf_set_dr_msg_cb(conf->get(), on_delivery);
    auto client = make_kafka_producer(std::move(*conf));
    if (!client) return client.error();
    client_ = std::move(*client);
    for (std::size_t role = 0; role < kKafkaRoles; ++role) {
      if (targets_[role].topic.empty()) continue;
      topics_[role].reset(rd_kafka_topic_new(client_.get(), targets_[role].topic.c_str(), nullptr));
      ends_[role].assign(targets_[role].partitions, 0);
    }
    return in_slices("taking over", kTakeOverTime, rd_kafka_init_transactions);
  }

  Result<void> begin() {
    HOLDFAST_TRY(check_interrupt(interrupt_));
    for (auto& ends : ends_) std::fill(ends.begin(), ends.end(), 0);
    return done("begin", rd_kafka_begin_transaction(client_.get()));
  }

  Result<void> send(const KafkaRecord& record) {
    const auto role = static_cast<std::size_t>(record.role);
    CHECK(topics_[role] != nullptr);
    build(record, role);
    while (true) {
      HOLDFAST_TRY(check_interrupt(interrupt_));
      const OwnedError error(rd_kafka_produceva(client_.get(), units_.data(), units_.size()));
      if (error == nullptr) break;
      const auto code = rd_kafka_error_code(error.get());
      if (code == RD_KAFKA_RESP_ERR__STATE) HOLDFAST_TRY(look());
      if (code != RD_KAFKA_RESP_ERR__QUEUE_FULL) {
        return kafka_failed(fmt::format("topic {}, key {}, {} bytes", targets_[role].topic, Echo(record.key).text(),
                                        record.value ? record.value->size() : 0),
                            code);
      }
      // Each record that waits has an end: it is delivered, or its time is over.
      rd_kafka_poll(client_.get(), kWaitMs);
      HOLDFAST_TRY(delivered());
    }
    ++under_way_;
    if (++sent_ % kPollEvery == 0) rd_kafka_poll(client_.get(), 0);
    return delivered();
  }

  Result<void> deliver() {
    while (!failed_ && under_way_ > 0) {
      HOLDFAST_TRY(check_interrupt(interrupt_));
      if (rd_kafka_flush(client_.get(), kWaitMs) != RD_KAFKA_RESP_ERR_NO_ERROR && !failed_) HOLDFAST_TRY(look());
    }
    return delivered();
  }

  Result<void> commit() {
    CHECK(under_way_ == 0);
    return in_slices("commit: it is not known whether it took place", kKafkaTransactionTime,
                     rd_kafka_commit_transaction);
  }

  const std::vector<std::int64_t>& ends(KafkaRole role) const noexcept { return ends_[static_cast<std::size_t>(role)]; }

 private:
  static std::vector<KafkaProperty> defaults(const KafkaProducerSettings& settings) {
    std::vector<KafkaProperty> all;
    all.push_back({"transaction.timeout.ms", std::to_string(kKafkaTransactionTime.count())});
    all.push_back({"queue.buffering.max.kbytes", std::to_string(kKafkaQueueBytes / 1_KiB)});
    all.push_back({"batch.size", std::to_string(settings.batch_bytes)});
    all.push_back({"compression.codec", "lz4"});
    return all;
  }

  /// A call that goes on where it was when it is made again: in slices, so that it can be interrupted.
  template <class Call>
  Result<void> in_slices(std::string_view what, Millis bound, Call call) {
    const auto until = std::chrono::steady_clock::now() + bound;
    while (true) {
      HOLDFAST_TRY(check_interrupt(interrupt_));
      OwnedError error(call(client_.get(), kSliceMs));
      const bool later = error != nullptr && rd_kafka_error_is_retriable(error.get()) != 0;
      if (!later || std::chrono::steady_clock::now() > until) return done(what, error.release());
      rd_kafka_poll(client_.get(), kWaitMs);
    }
  }

  /// Whether nothing that was reported failed. Records that were purged did so with their transaction, which knows why.
  Result<void> delivered() {
    if (purged_) HOLDFAST_TRY(look());
    return failed_ ? Result<void>(*failed_) : Result<void>();
  }

  /// Whether the transaction can still take place. One that failed lets its records wait for the end of their time; why it
  /// failed is told to who wants to begin another.
  Result<void> look() {
    const OwnedError error(rd_kafka_begin_transaction(client_.get()));
    CHECK(error != nullptr);
    if (rd_kafka_error_code(error.get()) == RD_KAFKA_RESP_ERR__STATE) return {};
    return kafka_failed("transaction", rd_kafka_error_code(error.get()), rd_kafka_error_string(error.get()),
                        trouble_.take());
  }

  /// A call's error, or that of the record that made the transaction fail.
  Result<void> done(std::string_view what, rd_kafka_error_t* raw) {
    const OwnedError error(raw);
    if (error == nullptr) return {};
    if (failed_ && !purged_) return *failed_;
    return kafka_failed(what, rd_kafka_error_code(error.get()), rd_kafka_error_string(error.get()), trouble_.take());
  }

  void build(const KafkaRecord& record, std::size_t role) {
    units_.clear();
    const auto unit = [this](rd_kafka_vtype_t type) -> auto& {
      units_.emplace_back();
      units_.back().vtype = type;
      return units_.back().u;
    };
    // librdkafka takes pointers that are not const, and does not write through them.
    const auto memory = [](const std::string& text) { return const_cast<char*>(text.data()); };
    unit(RD_KAFKA_VTYPE_RKT).rkt = topics_[role].get();
    unit(RD_KAFKA_VTYPE_PARTITION).i32 =
        rd_kafka_msg_partitioner_murmur2(topics_[role].get(), record.key.data(), record.key.size(),
                                         static_cast<std::int32_t>(targets_[role].partitions), nullptr, nullptr);
    unit(RD_KAFKA_VTYPE_MSGFLAGS).i = RD_KAFKA_MSG_F_COPY;
    auto& key = unit(RD_KAFKA_VTYPE_KEY).mem;
    key.ptr = memory(record.key);
    key.size = record.key.size();
    auto& value = unit(RD_KAFKA_VTYPE_VALUE).mem;
    value.ptr = record.value ? memory(*record.value) : nullptr;
    value.size = record.value ? record.value->size() : 0;
    unit(RD_KAFKA_VTYPE_OPAQUE).ptr = this;
    for (const KafkaHeader& each : record.headers) {
      auto& header = unit(RD_KAFKA_VTYPE_HEADER).header;
      header.name = each.name.c_str();
      header.val = each.value.data();
      header.size = static_cast<ssize_t>(each.value.size());
    }
  }

  static void on_delivery(rd_kafka_t*, const rd_kafka_message_t* message, void*) {
    static_cast<Impl*>(message->_private)->take(*message);
  }

  void take(const rd_kafka_message_t& message) {
    const auto place = std::find_if(topics_.begin(), topics_.end(),
                                    [&](const OwnedTopic& topic) { return topic.get() == message.rkt; });
    CHECK(place != topics_.end() && under_way_ > 0);
    --under_way_;
    const auto role = static_cast<std::size_t>(place - topics_.begin());
    if (message.err == RD_KAFKA_RESP_ERR_NO_ERROR) {
      auto& ends = ends_[role];
      const auto partition = static_cast<std::size_t>(message.partition);
      // A record that was sent again may come without its offset.
      if (partition < ends.size()) ends[partition] = std::max(ends[partition], message.offset + 1);
    } else if (!failed_) {
      purged_ = message.err == RD_KAFKA_RESP_ERR__PURGE_QUEUE || message.err == RD_KAFKA_RESP_ERR__PURGE_INFLIGHT;
      const std::string_view key(static_cast<const char*>(message.key), message.key_len);
      failed_ =
          kafka_failed(fmt::format("topic {}, key {}, {} bytes", targets_[role].topic, Echo(key).text(), message.len),
                       message.err, {}, trouble_.take());
    }
  }

  KafkaTrouble trouble_;  // outlives the client, as do the members up to it
  KafkaTargets targets_;
  std::array<std::vector<std::int64_t>, kKafkaRoles> ends_;
  std::optional<Error> failed_;  // of the first record that was not delivered
  bool purged_ = false;          // that is why it was not
  std::vector<rd_kafka_vu_t> units_;
  std::uint64_t sent_ = 0;
  std::uint64_t under_way_ = 0;  // of them, those of which nothing was reported yet
  const KafkaInterrupt* interrupt_ = nullptr;
  KafkaHandle client_;
  std::array<OwnedTopic, kKafkaRoles> topics_;
};

KafkaProducer::KafkaProducer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
KafkaProducer::~KafkaProducer() = default;

Result<std::unique_ptr<KafkaProducer>> KafkaProducer::take_over(const KafkaProducerSettings& settings,
                                                                KafkaTargets targets) {
  auto impl = std::make_unique<Impl>();
  HOLDFAST_TRY(impl->take_over(settings, std::move(targets)));
  return std::unique_ptr<KafkaProducer>(new KafkaProducer(std::move(impl)));
}

Result<void> KafkaProducer::begin() { return impl_->begin(); }
Result<void> KafkaProducer::send(const KafkaRecord& record) { return impl_->send(record); }
Result<void> KafkaProducer::deliver() { return impl_->deliver(); }
const std::vector<std::int64_t>& KafkaProducer::ends(KafkaRole role) const noexcept { return impl_->ends(role); }
Result<void> KafkaProducer::commit() { return impl_->commit(); }

}  // namespace holdfast
