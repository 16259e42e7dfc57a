#include "replication/dead_letter_desk.h"

#include "protocol/check.h"

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
  const auto find = [&](const std::string& topic) -> Result<KafkaTopicFacts> {
    auto facts = look_->topic(topic);
    if (!facts || facts->exists) return facts;
    return Error::format(ErrorCode::not_found, "kafka: topic {} does not exist", topic);
  };
  for (const std::string& topic : {topics_.topic, topics_.cursor_topic}) {
    auto facts = find(topic);
    if (!facts) return facts.error();
    written_.push_back(std::move(*facts));
  }
  const auto dead = find(dead_letter_topic(topics_.topic));
  if (!dead) return dead.error();
  dead_partitions_ = dead->partitions;
  return {};
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
  HOLDFAST_TRY(look_->settings(written_));
  KafkaTargets targets;
  targets[static_cast<std::size_t>(KafkaRole::orders)] = {topics_.topic, written_.front().partitions};
  targets[static_cast<std::size_t>(KafkaRole::cursor)] = {topics_.cursor_topic, 1};
  auto producer = KafkaProducer::take_over(
      {access_, "holdfast-dlt/" + topics_.cursor_topic + "/" + topics_.topic, kafka_batch_bytes(written_)},
      std::move(targets));
  if (!producer) return producer.error();
  HOLDFAST_TRY(read_book());
  firsts_.clear();
  for (std::size_t partition = 0; partition < dead_partitions_; ++partition) {
    const auto bounds = reader_->bounds(dead_letter_topic(topics_.topic), static_cast<std::int32_t>(partition));
    if (!bounds) return bounds.error();
    firsts_.push_back(bounds->first);
  }
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
  for (std::size_t partition = 0; partition < firsts_.size(); ++partition) {
    for (const KafkaRecord& end : book_.ends_before({static_cast<std::int32_t>(partition), firsts_[partition]})) {
      HOLDFAST_TRY(book_.take(end.key, std::nullopt));
      HOLDFAST_TRY(producer_->send(end));
    }
  }
  HOLDFAST_TRY(producer_->deliver());
  return producer_->commit();
}

}  // namespace holdfast
