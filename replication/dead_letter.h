// Dead letters: what consumers of a topic refused and put into <topic>.DLT, and what a person did about each, which stands in the
// compacted cursor topic:
//
//   dlt/TOPIC.DLT/PARTITION/OFFSET    replayed or cancelled, when, and a sum of the record that it was done with
//
// The sum tells a record from another one that has its place after the topic was made anew. Pure; any thread.
#pragma once

#include "replication/kafka_message.h"

namespace holdfast {

std::string dead_letter_topic(const std::string& topic);
/// The header of a record that was sent again: which dead letter it was.
inline constexpr std::string_view kReplayHeader = "holdfast_replay";

/// The reservation that a value tells of.
struct DeadOrder {
  std::string item;  // as in the log
  ItemVersion version;
  ReservationId id;
  std::string user;  // as the value has it
  std::int64_t quantity = 0;
  std::uint64_t sequence = 0;
};

struct DeadLetter {
  KafkaMessage message;
  std::optional<DeadOrder> order;  // nothing: the value is none of ours, or tells of an item
  std::optional<LogId> log;        // that it comes from; nothing: its headers do not say
  std::string reason;              // why it was refused, as its headers say
  std::string origin;              // where it lay in the topic: PARTITION/OFFSET; empty: its headers do not say
};
DeadLetter read_dead_letter(KafkaMessage&& message);

/// "PARTITION/OFFSET".
std::string place_text(KafkaPlace place);
/// Errors: bad_option, saying how it is written.
Result<KafkaPlace> parse_place(std::string_view text);

enum class DeadLetterState : std::uint8_t { waiting, replayed, cancelled };
std::string_view dead_letter_state_name(DeadLetterState state) noexcept;

struct DeadLetterMark {
  DeadLetterState state = DeadLetterState::waiting;
  WallTime at{};  // when it got that state
};

/// The record once more, to the topic that it came from: without the headers about its refusal, and with one that says which dead
/// letter it was.
KafkaRecord replay_record(const std::string& topic, const DeadLetter& letter);
/// What is kept of it. REQUIRES: not waiting.
KafkaRecord mark_record(const std::string& topic, const DeadLetter& letter, DeadLetterMark mark);

/// What the records of the cursor topic, taken in their order, say of one topic's dead letters. One thread.
class DeadLetterBook {
 public:
  explicit DeadLetterBook(const std::string& topic);

  /// Errors: `damaged` for a record of these that nothing here wrote.
  Result<void> take(std::string_view key, std::optional<std::string_view> value);
  DeadLetterMark of(const DeadLetter& letter) const;
  /// Marks of a partition's records that are gone: their keys are to be forgotten.
  std::vector<KafkaRecord> ends_before(KafkaPlace first) const;

 private:
  struct Entry {
    DeadLetterMark mark;
    std::string sum;
  };
  std::string prefix_;
  std::map<KafkaPlace, Entry> entries_;
};

}  // namespace holdfast
