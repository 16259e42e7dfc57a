// Asks a Kafka cluster what there is, and reads a topic: a shell around librdkafka, which decides nothing. Errors as
// kafka_handle.h says.
#pragma once

#include "replication/kafka_handle.h"

#include <functional>

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
  /// Of one of the brokers.
  Result<std::map<std::string, std::string, std::less<>>> broker_settings();
  /// Where its partitions end, whether the last records belong to a transaction that has ended or not.
  Result<std::vector<std::int64_t>> ends(const std::string& topic, std::size_t partitions);

 private:
  class Impl;
  explicit KafkaLook(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

using KafkaVisitor = std::function<Result<void>(std::string_view key, std::optional<std::string_view> value)>;
/// Reads partition 0 from its beginning to where it ends now: what transactions that took place wrote there. Waits a while for
/// those that have not ended. Also an error of the visitor ends it.
Result<void> read_kafka_topic(const KafkaAccess& access, const std::string& topic, const KafkaVisitor& visitor);

}  // namespace holdfast
