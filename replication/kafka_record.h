// What the kafka sink writes and reads back, as bytes: orders, events, and in the compacted cursor topic
//
//   cursor/SINK/LOG    how far the sink is in that log (zeros: it has seen none yet); the last record of every transaction
//   item/SINK/ITEM     what an item is; no value once it is dropped
//
// The newest cursor of a sink is the one that holds. Pure; any thread.
#pragma once

#include "replication/cursor.h"
#include "replication/sink_items.h"
#include "replication/start_state.h"

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace holdfast {

/// Which of the sink's topics.
enum class KafkaRole : std::uint8_t { orders, events, cursor };
inline constexpr std::size_t kKafkaRoles = 3;
/// Their topics, where nobody says others.
inline constexpr const char* kKafkaOrdersTopic = "flash-sale-orders";
inline constexpr const char* kKafkaEventsTopic = "flash-sale-events";
inline constexpr const char* kKafkaCursorTopic = "holdfast-cursors";

struct KafkaHeader {
  std::string name;
  std::string value;
  bool operator==(const KafkaHeader&) const = default;
};

struct KafkaRecord {
  KafkaRole role{};
  std::string key;
  std::optional<std::string> value;  // nothing: the key is forgotten when the topic is compacted
  std::vector<KafkaHeader> headers;
};

/// Offsets of the partitions of each topic.
using KafkaOffsets = std::map<std::string, std::vector<std::int64_t>>;

/// What the last record of a transaction says.
struct KafkaCursor {
  Cursor cursor;
  std::string owner;    // the process that wrote it
  KafkaOffsets topics;  // what they hold at least: an offset's end
  Lsn begins;           // a bootstrap's: the topics have what comes behind this LSN, none: everything
  KafkaOffsets before;  // and what is before these offsets is not the sink's
  bool operator==(const KafkaCursor&) const = default;
};

/// The records of events. `headers` are added to those of CloudEvents. A value; one thread.
class KafkaRecordMaker {
 public:
  KafkaRecordMaker(const LogId& log, std::vector<KafkaHeader> headers);

  /// The whole life of items and reservations: one record an event.
  KafkaRecord event(const Event& event) const;
  /// REQUIRES: event.is(ReservationEvent::reserve).
  KafkaRecord order(const Event& event) const;

 private:
  std::vector<KafkaHeader> headers_of(const Event& event, std::string type, std::string_view id_suffix) const;

  std::string source_;
  std::vector<KafkaHeader> headers_;
};

/// What the items of these events are after them, one record an item.
std::vector<KafkaRecord> item_records(const std::string& sink, std::span<const Event> events);
KafkaRecord item_record(const std::string& sink, const ItemFacts& item);
/// The item is not the sink's any more.
KafkaRecord item_end(const std::string& sink, const std::string& name);
KafkaRecord cursor_record(const std::string& sink, const KafkaCursor& cursor);
/// The sink has left that log.
KafkaRecord cursor_end(const std::string& sink, const LogId& log);

/// What the records of the cursor topic, taken in their order, say of one sink. One thread.
class KafkaCursorBook {
 public:
  explicit KafkaCursorBook(const std::string& sink);

  /// Errors: `damaged` for a record of this sink that nothing here wrote.
  Result<void> take(std::string_view key, std::optional<std::string_view> value);
  /// Nothing: there is none.
  const std::optional<KafkaCursor>& cursor() const noexcept { return cursor_; }
  SinkItems items() const;
  /// Their names, as in the log.
  std::vector<std::string> item_names() const;

 private:
  std::string cursor_prefix_;
  std::string item_prefix_;
  std::optional<KafkaCursor> cursor_;
  std::map<std::string, ItemFactsPointer, std::less<>> items_;  // by key
};

}  // namespace holdfast
