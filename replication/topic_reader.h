// What a reconcile reads of Kafka: the cursor of a sink, and the records of its topics up to where they end when asked. A shell
// around kafka_reader.h and kafka_look.h. Errors as kafka_handle.h says; not_found for a topic or a cursor that is not there.
#pragma once

#include "replication/kafka_reader.h"
#include "replication/kafka_record.h"

namespace holdfast {

struct TopicNames {
  std::string orders;  // empty: the sink writes none
  std::string events;
  std::string cursors;
};

class TopicReader {
 public:
  static Result<std::unique_ptr<TopicReader>> open(const KafkaAccess& access, TopicNames names);
  ~TopicReader();
  TopicReader(const TopicReader&) = delete;
  TopicReader& operator=(const TopicReader&) = delete;

  const std::string& name(KafkaRole role) const noexcept;
  /// Orders, where there are such, and events.
  std::vector<KafkaRole> roles() const;

  /// What the cursor topic says of the sink now. `sink` empty: the only one. Error: `bad_option` when there are several.
  Result<KafkaCursorBook> read_cursor(std::string& sink);

  /// A partition as it is to be read.
  struct Piece {
    KafkaRole role{};
    std::int32_t partition = 0;
    std::int64_t from = 0;
    std::int64_t end = 0;
    bool cut = false;  // what the sink wrote there first is gone
  };
  /// All there is now of what the sink wrote; where a topic ends before what the cursor says, a text in `troubles`.
  /// Error: `bad_option` for a topic that the sink does not write to.
  Result<std::vector<Piece>> look(const KafkaCursor& cursor, std::vector<std::string>& troubles);
  Result<void> read(const Piece& piece, const KafkaMessageVisitor& visitor);
  /// The record of that place; nothing: there is none.
  Result<std::optional<KafkaMessage>> at(KafkaRole role, KafkaPlace place);
  /// Of a key, as the relay chooses it. REQUIRES: looked.
  std::int32_t partition_of(KafkaRole role, std::string_view key) const;
  /// Whether there is a topic of that name.
  Result<bool> exists(const std::string& topic);

 private:
  TopicReader(KafkaAccess access, TopicNames names);

  KafkaAccess access_;
  TopicNames names_;
  std::unique_ptr<KafkaLook> look_;
  std::unique_ptr<KafkaReader> reader_;
  std::array<std::size_t, 2> partitions_{};  // by role
};

}  // namespace holdfast
