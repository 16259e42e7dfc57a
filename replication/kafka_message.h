// A record as a topic has it. A value; any thread.
#pragma once

#include "replication/kafka_record.h"

namespace holdfast {

/// Where a record lies in its topic.
struct KafkaPlace {
  std::int32_t partition = 0;
  std::int64_t offset = 0;
  auto operator<=>(const KafkaPlace&) const = default;
};

struct KafkaMessage {
  KafkaPlace place;
  WallTime at{};  // when it was written, as its producer or the broker says
  std::string key;
  std::optional<std::string> value;
  std::vector<KafkaHeader> headers;

  /// The last one of that name, as consumers take it; null when there is none.
  const std::string* header(std::string_view name) const noexcept {
    for (auto each = headers.rbegin(); each != headers.rend(); ++each) {
      if (each->name == name) return &each->value;
    }
    return nullptr;
  }
};

}  // namespace holdfast
