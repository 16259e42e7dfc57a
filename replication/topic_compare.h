// Compares the relay's topics with the log, change by change: each of the log's changes up to the cursor has one record among the
// events, and a RESERVE one among the orders, in the order of their sequence; each says what the log says, and nothing else is
// there. Records that holdfastctl dlt sent again are no others.
//
// Where the log has been cut, the events show whether they are dense before it, and what orders there are. Where the beginning of
// a partition has been deleted, nothing is asked for that is older than its first record.
//
// Deterministic; no I/O but the spill's. Memory: some 100 bytes and the name for each version of an item, and a part of the
// spill, which has 80 bytes for each record and each change. One thread.
#pragma once

#include "replication/spill_files.h"
#include "replication/topic_difference.h"
#include "replication/topic_record.h"

#include <boost/unordered/unordered_flat_map.hpp>
#include <functional>

namespace holdfast {

/// From where to where the topics and the log are compared.
struct TopicScope {
  Lsn through;  // what the cursor said before the topics were read
  Lsn later;    // and afterwards
  Lsn oldest;   // of what the log has
  Lsn durable;
};

class TopicCompare {
 public:
  /// In which partition the records of an item belong, by its raw name.
  using PartitionOf = std::function<std::int32_t(KafkaRole role, std::string_view name)>;
  /// `after`: the sink began behind this LSN. `roles`: the topics that there are.
  TopicCompare(SpillFiles spill, Lsn after, std::vector<KafkaRole> roles, PartitionOf partition_of);

  // First the topics: the records of each partition in turn. `cut`: what the sink wrote there first is gone.
  void begin_partition(KafkaRole role, std::int32_t partition, bool cut);
  Result<void> take(const KafkaMessage& message);
  /// The last LSN that a record names: the log has to be taken at least so far, if it reaches so far.
  Lsn last_named() const noexcept { return last_named_; }

  // Then the log's changes in turn. `offered`: the item is known as it was then.
  Result<void> take(const Event& event, bool offered);

  // Then all is held against each other. `progress`: after each part.
  Result<void> compare(const TopicScope& scope, const std::function<void(std::size_t part)>& progress);

  TopicDifferences& differences() noexcept { return differences_; }
  const TopicDifferences& differences() const noexcept { return differences_; }
  std::uint64_t records(KafkaRole role) const noexcept { return topics_[static_cast<std::size_t>(role)].records; }
  std::uint64_t replays() const noexcept { return replays_; }
  std::uint64_t changes() const noexcept { return changes_; }

 private:
  struct Entry;
  struct Group;
  /// What is known of a version of an item in one topic.
  struct Run {
    std::int32_t partition = -1;  // in which it was last
    bool divided = false;         // it is in several
    Sequence first;               // in that one
    Sequence last;
  };
  struct Stream {
    std::string item;  // outside text
    ItemVersion version;
    Sequence log_first;  // the first of it that the log has
    std::array<Run, 2> runs;
  };
  struct Partition {
    bool cut = false;
    Lsn begins{~std::uint64_t{0}};  // the log's LSN of the first record, where that is known
  };
  struct Topic {
    bool used = false;
    std::vector<Partition> partitions;
    std::uint64_t records = 0;
  };
  /// Changes that a partition passes over.
  struct Gap {
    std::uint32_t stream = 0;
    Sequence first;
    Sequence last;
  };

  std::uint32_t stream_of(std::string_view item, ItemVersion version);
  bool follow(Stream& stream, std::uint32_t number, const TopicRecord& record);
  void note_gap(std::uint32_t stream, Sequence first, Sequence last);
  Result<void> spill(const Entry& entry);
  Result<std::vector<Entry>> take_part(std::size_t part);
  void find_beginnings();
  std::vector<const Partition*> cut_partitions(KafkaRole role, const Stream& stream) const;
  Lsn begin_of(KafkaRole role, const Stream& stream) const;
  bool is_cut(KafkaRole role, const Stream& stream) const;
  void judge(const Group& group);
  void judge(KafkaRole role, const Group& group);
  void judge_copies(KafkaRole role, const Group& group);
  bool is_due(KafkaRole role, const Group& group) const;
  bool is_before_log(KafkaRole role, const Group& group) const;
  void judge_gaps();
  void judge_cursor();
  void miss(TopicDifference missing);
  TopicDifference difference(TopicDifferenceKind kind, KafkaRole role, const Group& group, const Entry* copy) const;

  SpillFiles files_;
  Lsn after_;
  PartitionOf partition_of_;
  TopicScope scope_;
  std::array<Topic, 2> topics_;  // by role
  KafkaRole role_{};
  std::int32_t partition_ = 0;
  std::vector<Stream> streams_;
  boost::unordered_flat_map<std::string, std::uint32_t> stream_numbers_;  // by item and version
  boost::unordered_flat_map<std::uint64_t, std::uint32_t> item_streams_;  // by number
  std::vector<Gap> gaps_;
  Lsn last_named_;
  Lsn has_;            // the last change of which there is a record
  Lsn first_missing_;  // none: nothing is missing
  TopicDifferences missing_;
  TopicDifferences differences_;
  std::uint64_t replays_ = 0;
  std::uint64_t changes_ = 0;
};

}  // namespace holdfast
