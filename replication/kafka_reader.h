// Reads the records of a topic's partitions: a shell around librdkafka, which decides nothing. Errors as kafka_handle.h says.
#pragma once

#include "replication/kafka_handle.h"
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

  /// The offsets that a partition has: of its first record and behind its last one.
  struct Bounds {
    std::int64_t first = 0;
    std::int64_t end = 0;
  };
  Result<Bounds> bounds(const std::string& topic, std::int32_t partition);
  /// Reads from `from` on up to the end as it is now, or to where a transaction has not ended: what transactions that took place
  /// wrote. REQUIRES: `from` is within the bounds. Also an error of the visitor ends it.
  Result<void> read(const std::string& topic, KafkaPlace from, std::int64_t end, const KafkaMessageVisitor& visitor);

 private:
  class Impl;
  explicit KafkaReader(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace holdfast
