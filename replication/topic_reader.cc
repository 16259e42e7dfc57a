#include "replication/topic_reader.h"

#include "protocol/check.h"
#include "replication/kafka_look.h"

#include <fmt/format.h>
#include <librdkafka/rdkafka.h>

#include <algorithm>
#include <set>

namespace holdfast {
namespace {

std::int64_t of_partition(const KafkaOffsets& offsets, const std::string& topic, std::size_t partition) {
  const auto place = offsets.find(topic);
  return place == offsets.end() || partition >= place->second.size() ? 0 : place->second[partition];
}

/// "cursor/SINK/LOG": SINK; empty: another key.
std::string_view sink_in(std::string_view key) {
  constexpr std::string_view kPrefix = "cursor/";
  const std::size_t slash = key.rfind('/');
  return key.starts_with(kPrefix) && slash >= kPrefix.size() ? key.substr(kPrefix.size(), slash - kPrefix.size()) : "";
}

Error unwritten(const KafkaCursor& cursor, const std::string& topic) {
  std::vector<std::string> names;
  for (const auto& [name, ends] : cursor.topics) names.push_back(name);
  return Error::format(
      ErrorCode::bad_option,
      "kafka: the sink does not write to topic {}, but to {}: --kafka-...-topic says so ('': no orders)", topic,
      fmt::join(names, ", "));
}

}  // namespace

TopicReader::TopicReader(KafkaAccess access, TopicNames names) : access_(std::move(access)), names_(std::move(names)) {}
TopicReader::~TopicReader() = default;

Result<std::unique_ptr<TopicReader>> TopicReader::open(const KafkaAccess& access, TopicNames names) {
  std::unique_ptr<TopicReader> opened(new TopicReader(access, std::move(names)));
  auto look = KafkaLook::connect(access);
  if (!look) return look.error();
  opened->look_ = std::move(*look);
  auto reader = KafkaReader::connect(access);
  if (!reader) return reader.error();
  opened->reader_ = std::move(*reader);
  return opened;
}

const std::string& TopicReader::name(KafkaRole role) const noexcept {
  if (role == KafkaRole::cursor) return names_.cursors;
  return role == KafkaRole::orders ? names_.orders : names_.events;
}

std::vector<KafkaRole> TopicReader::roles() const {
  if (names_.orders.empty()) return {KafkaRole::events};
  return {KafkaRole::orders, KafkaRole::events};
}

Result<KafkaCursorBook> TopicReader::read_cursor(std::string& sink) {
  std::set<std::string, std::less<>> sinks;
  const auto note = [&](std::string_view key, std::optional<std::string_view> value) -> Result<void> {
    if (const auto found = sink_in(key); value && !found.empty()) sinks.emplace(found);
    return {};
  };
  if (sink.empty()) {
    HOLDFAST_TRY(read_kafka_topic(access_, *look_, names_.cursors, note));
    if (sinks.size() > 1) {
      return Error::format(ErrorCode::bad_option, "topic {} has the cursors of {}: --kafka-sink says which",
                           names_.cursors, fmt::join(sinks, ", "));
    }
    if (sinks.size() == 1) sink = *sinks.begin();
  }
  KafkaCursorBook book(sink);
  HOLDFAST_TRY(read_kafka_topic(access_, *look_, names_.cursors,
                                [&](std::string_view key, auto value) { return book.take(key, value); }));
  if (!sink.empty() && book.cursor() && is_log(book.cursor()->cursor.log)) return book;
  return Error::format(ErrorCode::not_found, "kafka: topic {} has no cursor{}: no relay has written there",
                       names_.cursors, sink.empty() ? "" : " of sink " + sink);
}

Result<std::vector<TopicReader::Piece>> TopicReader::look(const KafkaCursor& cursor,
                                                          std::vector<std::string>& troubles) {
  std::vector<Piece> pieces;
  for (const KafkaRole role : roles()) {
    if (!cursor.topics.contains(name(role))) return unwritten(cursor, name(role));
    const auto facts = look_->topic(name(role));
    if (!facts) return facts.error();
    if (!facts->exists) return Error::format(ErrorCode::not_found, "kafka: topic {} does not exist", name(role));
    partitions_[static_cast<std::size_t>(role)] = facts->partitions;
    const auto ends = look_->ends(name(role), facts->partitions);
    if (!ends) return ends.error();
    const auto sound = check_kafka_ends(cursor, name(role), *ends);
    if (!sound) troubles.emplace_back(sound.error().text());
    for (std::size_t i = 0; i < facts->partitions; ++i) {
      const auto number = static_cast<std::int32_t>(i);
      const auto bounds = reader_->bounds(name(role), number);
      if (!bounds) return bounds.error();
      // Where a topic was made anew, what the cursor says of it is of another one.
      const std::int64_t before = sound ? of_partition(cursor.before, name(role), i) : 0;
      pieces.push_back({role, number, std::max(bounds->first, before), (*ends)[i], bounds->first > before});
    }
  }
  return pieces;
}

Result<void> TopicReader::read(const Piece& piece, const KafkaMessageVisitor& visitor) {
  return reader_->read(name(piece.role), {piece.partition, piece.from}, piece.end, visitor);
}

Result<std::optional<KafkaMessage>> TopicReader::at(KafkaRole role, KafkaPlace place) {
  std::optional<KafkaMessage> found;
  HOLDFAST_TRY(reader_->read(name(role), place, place.offset + 1, [&](KafkaMessage&& message) -> Result<bool> {
    found = std::move(message);
    return false;
  }));
  return found;
}

std::int32_t TopicReader::partition_of(KafkaRole role, std::string_view key) const {
  const auto partitions = static_cast<std::int32_t>(partitions_.at(static_cast<std::size_t>(role)));
  CHECK(partitions > 0);
  return rd_kafka_msg_partitioner_murmur2(nullptr, key.data(), key.size(), partitions, nullptr, nullptr);
}

Result<bool> TopicReader::exists(const std::string& topic) {
  const auto facts = look_->topic(topic);
  if (!facts) return facts.error();
  return facts->exists;
}

}  // namespace holdfast
