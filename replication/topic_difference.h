// What the log and Kafka's topics disagree about. Values; any thread.
#pragma once

#include "replication/event.h"
#include "replication/kafka_message.h"

#include <array>
#include <initializer_list>
#include <span>

namespace holdfast {

enum class TopicDifferenceKind : std::uint8_t {
#define HOLDFAST_TOPIC_DIFFERENCE(kind, name, what, person) kind,
#include "replication/difference_kinds.def"
};

struct TopicDifferenceKindEntry {
  std::string_view name;
  std::string_view what;
  std::string_view person;  // what stays for one: nothing is written
};

/// The whole table, in its order.
std::span<const TopicDifferenceKindEntry> topic_difference_kinds() noexcept;
inline constexpr std::size_t kTopicDifferenceKinds =
    std::initializer_list<TopicDifferenceKind>{
#define HOLDFAST_TOPIC_DIFFERENCE(kind, name, what, person) TopicDifferenceKind::kind,
#include "replication/difference_kinds.def"
    }
        .size();

struct TopicDifference {
  TopicDifferenceKind kind{};
  KafkaRole role{};                 // in which topic; cursor: of the sink as a whole
  std::string item;                 // outside text; empty: of no item
  ItemVersion version;              // none: of no item
  Sequence sequence;                // none: of no change
  std::optional<KafkaPlace> place;  // of the record
  std::string topic;                // what the topic says
  std::string log;                  // what the log says
  Lsn lsn;                          // of the change; none: the log does not know it
  bool offer_known = false;         // content: the log tells what was to be paid
};

/// Keeps a bounded number of differences, and counts all.
class TopicDifferences {
 public:
  void add(TopicDifference difference);
  void add(TopicDifferences others);
  /// In the order of topics, items and sequences.
  void sort();
  std::vector<TopicDifference>& kept() noexcept { return kept_; }
  const std::vector<TopicDifference>& kept() const noexcept { return kept_; }
  std::uint64_t count(TopicDifferenceKind kind) const noexcept { return counts_[static_cast<std::size_t>(kind)]; }
  std::uint64_t count() const noexcept { return count_; }

 private:
  std::vector<TopicDifference> kept_;
  std::array<std::uint64_t, kTopicDifferenceKinds> counts_{};
  std::uint64_t count_ = 0;
};

}  // namespace holdfast
