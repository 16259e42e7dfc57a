// What the shells around librdkafka share: a client with a person's properties, and errors as the sink takes them. Blocking; one
// thread each (librdkafka has threads of its own). A client on which a call failed is of no use any more.
//
// Errors of all calls: kafka_error_code's, with what librdkafka last said of the connection where it only waited in vain;
// bad_option for a property that it does not take.
#pragma once

#include "replication/kafka_checks.h"

#include <atomic>
#include <memory>
#include <mutex>

struct rd_kafka_s;
struct rd_kafka_conf_s;

namespace holdfast {

struct KafkaProperty {
  std::string name;
  std::string value;
};

/// Ends what calls wait for, and every later one, with io_failed. Any thread.
class KafkaInterrupt {
 public:
  void raise() noexcept { raised_ = true; }
  bool raised() const noexcept { return raised_; }

 private:
  std::atomic<bool> raised_ = false;
};

struct KafkaAccess {
  std::string brokers;                        // HOST:PORT,...
  std::vector<KafkaProperty> properties;      // of librdkafka, as a person gives them
  const KafkaInterrupt* interrupt = nullptr;  // of all clients with this access, which it outlives
};
/// Error: io_failed once it was raised. Null: it never is.
Result<void> check_interrupt(const KafkaInterrupt* interrupt);

/// What librdkafka's threads last said of the connections: why a call waited in vain. Any thread.
class KafkaTrouble {
 public:
  void put(std::string_view text);
  std::string take();

 private:
  std::mutex mutex_;
  std::string text_;
};

struct KafkaConfDestroyer {
  void operator()(rd_kafka_conf_s* conf) const noexcept;
};
struct KafkaHandleDestroyer {
  void operator()(rd_kafka_s* handle) const noexcept;
};
using KafkaConf = std::unique_ptr<rd_kafka_conf_s, KafkaConfDestroyer>;
using KafkaHandle = std::unique_ptr<rd_kafka_s, KafkaHandleDestroyer>;

/// `defaults` may be changed by the person's properties, `fixed` not. `trouble` outlives the client.
Result<KafkaConf> make_kafka_conf(const KafkaAccess& access, const std::vector<KafkaProperty>& defaults,
                                  const std::vector<KafkaProperty>& fixed, KafkaTrouble& trouble);
Result<KafkaHandle> make_kafka_consumer(KafkaConf conf);
Result<KafkaHandle> make_kafka_producer(KafkaConf conf);

/// The error of a call. `text`: librdkafka's own; empty: that of the code.
Error kafka_failed(std::string_view what, int code, std::string_view text = {}, const std::string& trouble = {});

}  // namespace holdfast
