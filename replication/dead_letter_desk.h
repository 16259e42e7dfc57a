// What a person does about dead letters of a topic: looks at them, has them sent again, once each, or notes that they are done with.
// What is sent again and the note of it are one transaction. Blocking; one thread. Errors as kafka_handle.h says.
#pragma once

#include "replication/dead_letter.h"
#include "replication/kafka_look.h"
#include "replication/kafka_producer.h"
#include "replication/kafka_reader.h"

namespace holdfast {

struct DeadLetterTopics {
  std::string topic;  // that consumers read; theirs of dead letters is dead_letter_topic(topic)
  std::string cursor_topic;
};

struct MarkedLetter {
  DeadLetter letter;
  DeadLetterMark mark;
};

class DeadLetterDesk {
 public:
  /// Errors: also not_found for a topic that does not exist.
  static Result<std::unique_ptr<DeadLetterDesk>> open(const KafkaAccess& access, const DeadLetterTopics& topics);

  /// All, partition by partition, with the marks that they had when it began. Also an error of the visitor ends it.
  using Visitor = std::function<Result<void>(MarkedLetter&& letter)>;
  Result<void> visit(const Visitor& visitor);
  /// Nothing when there is none.
  Result<std::optional<MarkedLetter>> find(KafkaPlace place);

  /// From now on nobody else who began before can send or note anything of this topic, and marks are as they are. After an error
  /// of the next two it is not known what took place: begin again.
  Result<void> begin();
  /// Sends them again and notes that. REQUIRES: begun; all of them waiting.
  Result<void> replay(std::span<const DeadLetter> letters, WallTime now);
  /// REQUIRES: begun; waiting.
  Result<void> cancelled(const DeadLetter& letter, WallTime now);

 private:
  DeadLetterDesk(KafkaAccess access, DeadLetterTopics topics)
      : access_(std::move(access)), topics_(std::move(topics)), book_(topics_.topic) {}
  Result<void> look();
  Result<void> read_book();
  MarkedLetter marked(KafkaMessage&& message) const;
  Result<void> commit(std::span<const DeadLetter> letters, DeadLetterMark mark);

  KafkaAccess access_;
  DeadLetterTopics topics_;
  std::vector<KafkaTopicFacts> written_;  // the topic, and that of cursors
  std::size_t dead_partitions_ = 0;       // of that of dead letters
  std::vector<std::int64_t> firsts_;      // the first offset of each of these, once begun
  std::unique_ptr<KafkaLook> look_;
  std::unique_ptr<KafkaReader> reader_;
  std::unique_ptr<KafkaProducer> producer_;  // once begun
  DeadLetterBook book_;
};

}  // namespace holdfast
