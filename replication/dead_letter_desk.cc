#include "replication/dead_letter_desk.h"

#include "protocol/check.h"
#include "replication/limits.h"

#include <algorithm>

namespace holdfast {

Result<std::unique_ptr<DeadLetterDesk>> DeadLetterDesk::open(const KafkaAccess& access,
                                                             const DeadLetterTopics& topics) {
  std::unique_ptr<DeadLetterDesk> desk(new DeadLetterDesk(access, topics));
  HOLDFAST_TRY(desk->look());
  auto reader = KafkaReader::connect(access);
  if (!reader) return reader.error();
  desk->reader_ = std::move(*reader);
  return desk;
}

Result<void> DeadLetterDesk::look() {
  auto looking = KafkaLook::connect(access_);
  if (!looking) return looking.error();
  look_ = std::move(*looking);
  const auto partitions_of = [&](const std::string& topic, std::size_t& partitions) -> Result<void> {
    const auto facts = look_->topic(topic);
    if (!facts) return facts.error();
    if (!facts->exists) return Error::format(ErrorCode::not_found, "kafka: topic {} does not exist", topic);
    partitions = facts->partitions;
    return {};
  };
  std::size_t of_cursors = 0;
  HOLDFAST_TRY(partitions_of(topics_.topic, partitions_));
  HOLDFAST_TRY(partitions_of(dead_letter_topic(topics_.topic), dead_partitions_));
  return partitions_of(topics_.cursor_topic, of_cursors);
}

Result<void> DeadLetterDesk::read_book() {
  book_ = DeadLetterBook(topics_.topic);
  return read_kafka_topic(access_, *look_, topics_.cursor_topic,
                          [&](std::string_view key, auto value) { return book_.take(key, value); });
}

Result<void> DeadLetterDesk::visit(const Visitor& visitor) {
  if (producer_ == nullptr) HOLDFAST_TRY(read_book());
  const KafkaMessageVisitor take = [&](KafkaMessage&& message) -> Result<bool> {
    HOLDFAST_TRY(visitor(marked(std::move(message))));
    return true;
  };
  const std::string topic = dead_letter_topic(topics_.topic);
  for (std::size_t partition = 0; partition < dead_partitions_; ++partition) {
    const auto number = static_cast<std::int32_t>(partition);
    const auto bounds = reader_->bounds(topic, number);
    if (!bounds) return bounds.error();
    HOLDFAST_TRY(reader_->read(topic, {number, bounds->first}, bounds->end, take));
  }
  return {};
}

Result<std::optional<MarkedLetter>> DeadLetterDesk::find(KafkaPlace place) {
  std::optional<MarkedLetter> found;
  if (static_cast<std::size_t>(place.partition) >= dead_partitions_) return found;
  if (producer_ == nullptr) HOLDFAST_TRY(read_book());
  const std::string topic = dead_letter_topic(topics_.topic);
  const auto bounds = reader_->bounds(topic, place.partition);
  if (!bounds) return bounds.error();
  if (place.offset < bounds->first) return found;
  const KafkaMessageVisitor take = [&](KafkaMessage&& message) -> Result<bool> {
    if (message.place == place) found = marked(std::move(message));
    return false;
  };
  HOLDFAST_TRY(reader_->read(topic, place, bounds->end, take));
  return found;
}

MarkedLetter DeadLetterDesk::marked(KafkaMessage&& message) const {
  DeadLetter letter = read_dead_letter(std::move(message));
  const DeadLetterMark mark = book_.of(letter);
  return {std::move(letter), mark};
}

Result<void> DeadLetterDesk::begin() {
  producer_.reset();
  KafkaTargets targets;
  targets[static_cast<std::size_t>(KafkaRole::orders)] = {topics_.topic, partitions_};
  targets[static_cast<std::size_t>(KafkaRole::cursor)] = {topics_.cursor_topic, 1};
  auto producer = KafkaProducer::take_over(
      {access_, "holdfast-dlt/" + topics_.cursor_topic + "/" + topics_.topic, kKafkaBatchBytes}, std::move(targets));
  if (!producer) return producer.error();
  HOLDFAST_TRY(read_book());
  producer_ = std::move(*producer);
  return {};
}

Result<void> DeadLetterDesk::replay(std::span<const DeadLetter> letters, WallTime now) {
  CHECK(producer_ != nullptr);
  HOLDFAST_TRY(producer_->begin());
  for (const DeadLetter& each : letters) HOLDFAST_TRY(producer_->send(replay_record(topics_.topic, each)));
  return commit(letters, {DeadLetterState::replayed, now});
}

Result<void> DeadLetterDesk::cancelled(const DeadLetter& letter, WallTime now) {
  CHECK(producer_ != nullptr);
  HOLDFAST_TRY(producer_->begin());
  return commit(std::span(&letter, 1), {DeadLetterState::cancelled, now});
}

/// The marks of these, and the ends of marks of records that the topic does not keep any more.
Result<void> DeadLetterDesk::commit(std::span<const DeadLetter> letters, DeadLetterMark mark) {
  for (const DeadLetter& each : letters) {
    CHECK(book_.of(each).state == DeadLetterState::waiting);
    const KafkaRecord record = mark_record(topics_.topic, each, mark);
    HOLDFAST_TRY(book_.take(record.key, *record.value));
    HOLDFAST_TRY(producer_->send(record));
  }
  for (std::size_t partition = 0; partition < dead_partitions_; ++partition) {
    const auto number = static_cast<std::int32_t>(partition);
    const auto bounds = reader_->bounds(dead_letter_topic(topics_.topic), number);
    if (!bounds) return bounds.error();
    for (const KafkaRecord& end : book_.ends_before({number, bounds->first})) {
      HOLDFAST_TRY(book_.take(end.key, std::nullopt));
      HOLDFAST_TRY(producer_->send(end));
    }
  }
  HOLDFAST_TRY(producer_->deliver());
  return producer_->commit();
}

}  // namespace holdfast
