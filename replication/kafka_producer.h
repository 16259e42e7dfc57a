// Writes records to Kafka in transactions: all of one become visible, or none. A shell around librdkafka, which decides
// nothing. Errors as kafka_handle.h says. An interrupt ends all calls soon.
#pragma once

#include "replication/kafka_handle.h"

#include <array>

namespace holdfast {

/// Where records go.
struct KafkaTarget {
  std::string topic;  // empty: nowhere
  std::size_t partitions = 0;
};
using KafkaTargets = std::array<KafkaTarget, kKafkaRoles>;

struct KafkaProducerSettings {
  KafkaAccess access;
  std::string transactional_id;
  std::size_t batch_bytes = 0;  // of what one request holds for a partition
};

class KafkaProducer {
 public:
  /// From now on no earlier producer with this id can write; what it left open is undone.
  static Result<std::unique_ptr<KafkaProducer>> take_over(const KafkaProducerSettings& settings, KafkaTargets targets);
  ~KafkaProducer();
  KafkaProducer(const KafkaProducer&) = delete;
  KafkaProducer& operator=(const KafkaProducer&) = delete;

  Result<void> begin();
  /// To the partition that the key has as Java's default partitioner chooses it. Waits while too much is under way.
  /// REQUIRES: begun; the record's role has a target.
  Result<void> send(const KafkaRecord& record);
  /// Waits until the brokers have all that was sent.
  Result<void> deliver();
  /// The offset behind the last record that was delivered to each partition of a role's topic; 0: none was.
  const std::vector<std::int64_t>& ends(KafkaRole role) const noexcept;
  /// REQUIRES: all was delivered. After an error it is not known whether it took place. Waits for the brokers for
  /// kKafkaTransactionTime.
  Result<void> commit();

 private:
  class Impl;
  explicit KafkaProducer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace holdfast
