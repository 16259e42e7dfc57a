// Asks a Kafka cluster what there is: a shell around librdkafka, which decides nothing. Errors as kafka_handle.h says. An answer
// is waited for, kKafkaAnswerTime at most, also when interrupted.
#pragma once

#include "replication/kafka_handle.h"

namespace holdfast {

class KafkaLook {
 public:
  static Result<std::unique_ptr<KafkaLook>> connect(const KafkaAccess& access);
  ~KafkaLook();
  KafkaLook(const KafkaLook&) = delete;
  KafkaLook& operator=(const KafkaLook&) = delete;

  /// All but the settings.
  Result<KafkaTopicFacts> topic(const std::string& name);
  /// Fills in the settings of topics that exist.
  Result<void> settings(std::span<KafkaTopicFacts> topics);
  /// Of one of the brokers that the cluster had when a topic was last asked for.
  Result<std::map<std::string, std::string, std::less<>>> broker_settings();
  /// Where its partitions end, whether the last records belong to a transaction that has ended or not.
  Result<std::vector<std::int64_t>> ends(const std::string& topic, std::size_t partitions);

 private:
  class Impl;
  explicit KafkaLook(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace holdfast
