// What a record of the relay's topics says, and what it should say, as much as it takes to compare the two. Pure; any thread.
#pragma once

#include "replication/event.h"
#include "replication/kafka_message.h"

#include <boost/json/object.hpp>

namespace holdfast {

/// Of two values that say the same, whatever the order of their members, both sums are equal.
struct RecordSums {
  std::uint64_t offer = 0;  // price, currency and saleId
  std::uint64_t rest = 0;   // the key, and all other members
  bool operator==(const RecordSums&) const noexcept = default;
};
RecordSums record_sums(std::string_view key, const boost::json::object& value);

/// What a record says of itself.
struct TopicRecord {
  std::string item;  // outside text
  ItemVersion version;
  Sequence sequence;
  Lsn lsn;              // of an event
  bool placed = false;  // an order, or the event of one: RESERVE
  bool replay = false;  // holdfastctl dlt sent it again
  RecordSums sums;
};
/// Nothing: no order and no event, respectively, of ours.
std::optional<TopicRecord> read_topic_record(KafkaRole role, const KafkaMessage& message);

/// A record's value as an object; nothing: it is none.
std::optional<boost::json::object> record_value(const KafkaMessage& message);
/// What it should be. REQUIRES of an order: a RESERVE.
boost::json::object expected_value(KafkaRole role, const Event& event);

/// "price 600 instead of 500, userId gone": the members in which `found` is not `right`; `offer`: also those of what is paid.
std::string differing_members(const boost::json::object& found, const boost::json::object& right, bool offer);

}  // namespace holdfast
