// Reads the records of a topic's partitions: a shell around librdkafka, which decides nothing. Errors as kafka_handle.h says.
#pragma once

#include "replication/kafka_look.h"
#include "replication/kafka_message.h"

#include <functional>

namespace holdfast {

/// False: no more is wanted.
using KafkaMessageVisitor = std::function<Result<bool>(KafkaMessage&& message)>;

class KafkaReader {
 public:
  static Result<std::unique_ptr<KafkaReader>> connect(const KafkaAccess& access);
  ~KafkaReader();
  KafkaReader(const KafkaReader&) = delete;
  KafkaReader& operator=(const KafkaReader&) = delete;

  /// The offsets that a partition has: of its first record and behind the last one before which all transactions have ended.
  struct Bounds {
    std::int64_t first = 0;
    std::int64_t end = 0;
  };
  Result<Bounds> bounds(const std::string& topic, std::int32_t partition);
  /// Reads from `from` up to `end`: what transactions that took place wrote. Waits kKafkaAnswerTime for one that has not ended.
  /// REQUIRES: `from` is within the bounds. Also an error of the visitor ends it.
  Result<void> read(const std::string& topic, KafkaPlace from, std::int64_t end, const KafkaMessageVisitor& visitor);

 private:
  class Impl;
  explicit KafkaReader(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

using KafkaVisitor = std::function<Result<void>(std::string_view key, std::optional<std::string_view> value)>;
/// Reads all of partition 0 up to where it ends now, whoever wrote there. Errors of the visitor get the record's place.
Result<void> read_kafka_topic(const KafkaAccess& access, KafkaLook& look, const std::string& topic,
                              const KafkaVisitor& visitor);

}  // namespace holdfast
