#include "tools/holdfastctl_reconcile_topics.h"

#include "protocol/outside_text.h"
#include "replication/dead_letter_desk.h"
#include "replication/topic_compare.h"
#include "replication/topic_reader.h"
#include "storage/record_lines.h"
#include "tools/topic_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <map>

namespace holdfast {
namespace {

namespace json = boost::json;

constexpr std::chrono::seconds kTimeout{60};
constexpr std::size_t kShownMax = 20;
constexpr std::size_t kExplainedMax = 100;  // records that are read again to say what is wrong in them

json::string_view view(std::string_view text) { return {text.data(), text.size()}; }

const TopicDifferenceKindEntry& entry_of(TopicDifferenceKind kind) {
  return topic_difference_kinds()[static_cast<std::size_t>(kind)];
}

class TopicRun {
 public:
  TopicRun(TopicReader& topics, RespClient& client, const ReconcileTopicsWords& words, bool as_json)
      : topics_(topics), log_(client), words_(words), json_(as_json), sink_(words.sink) {}

  Result<int> run() {
    auto spill = SpillFiles::make();
    if (!spill) return spill.error();
    // First the cursor, then the ends: what the cursor says is before them.
    const auto before = topics_.read_cursor(sink_);
    if (!before) return before.error();
    const KafkaCursor& cursor = *before->cursor();
    HOLDFAST_TRY(check_log(cursor));
    TopicCompare compare(std::move(*spill), cursor.begins, topics_.roles(),
                         [this](KafkaRole role, std::string_view name) { return topics_.partition_of(role, name); });
    HOLDFAST_TRY(read_topics(cursor, compare));
    const auto after = topics_.read_cursor(sink_);
    if (!after) return after.error();
    if (after->cursor()->cursor.log != cursor.cursor.log || after->cursor()->begins != cursor.begins)
      return Error(ErrorCode::io_failed, "the sink was begun anew meanwhile: run reconcile again");
    HOLDFAST_TRY(read_log(cursor, *after, compare));
    HOLDFAST_TRY(explain(after->items(), compare));
    HOLDFAST_TRY(count_letters());
    progress_.reset();
    print(compare);
    return compare.differences().count() == 0 ? kDone : kNotOk;
  }

 private:
  /// A cursor beyond the log is a difference; topics of another log cannot be compared.
  Result<void> check_log(const KafkaCursor& found) {
    HOLDFAST_TRY(log_.look());
    begins_ = found.begins;
    Cursor cursor = found.cursor;
    cursor.lsn = std::min(cursor.lsn, log_.durable());
    if (cursor.lsn.next() < log_.oldest()) cursor.lsn = log_.oldest();
    return check_cursor(cursor, LogRange{log_.log(), log_.oldest(), log_.durable()});
  }

  Result<void> read_topics(const KafkaCursor& cursor, TopicCompare& compare) {
    std::vector<std::string> troubles;
    const auto pieces = topics_.look(cursor, troubles);
    if (!pieces) return pieces.error();
    for (const TopicReader::Piece& piece : *pieces) {
      compare.begin_partition(piece.role, piece.partition, piece.cut);
      if (piece.cut) ++cut_[topics_.name(piece.role)];
      const KafkaMessageVisitor take = [&](KafkaMessage&& message) -> Result<bool> {
        progress_->show(
            fmt::format("{} {}: {} of {}", topics_.name(piece.role), piece.partition, message.place.offset, piece.end));
        const auto taken = compare.take(message);
        if (!taken) return taken.error();
        return true;
      };
      HOLDFAST_TRY(topics_.read(piece, take));
    }
    for (std::string& text : troubles) {
      TopicDifference found;
      found.kind = TopicDifferenceKind::cursor;
      found.role = KafkaRole::cursor;
      found.topic = std::move(text);
      compare.differences().add(std::move(found));
    }
    return {};
  }

  Result<void> read_log(const KafkaCursor& cursor, const KafkaCursorBook& later, TopicCompare& compare) {
    HOLDFAST_TRY(log_.look());
    cursor_ = later.cursor()->cursor.lsn;
    const Lsn through = std::min(log_.durable(), std::max(cursor_, compare.last_named()));
    HOLDFAST_TRY(log_.read(
        through, later.items(), [&](const Event& event, bool offered) { return compare.take(event, offered); },
        on_log()));
    return compare.compare({cursor.cursor.lsn, cursor_, log_.oldest(), log_.durable()}, [this](std::size_t part) {
      progress_->show(fmt::format("comparing: {} of {}", part, kReconcileParts));
    });
  }

  TopicLog::Progress on_log() {
    return [this](Lsn at) { progress_->show(fmt::format("log: LSN {} of {}", at.value(), log_.durable().value())); };
  }

  /// Reads the first records that are wrong again, and says what is.
  Result<void> explain(const SinkItems& items, TopicCompare& compare) {
    std::map<Lsn, std::vector<TopicDifference*>> wrong;
    Lsn last;
    std::size_t count = 0;
    for (TopicDifference& each : compare.differences().kept()) {
      if (each.kind != TopicDifferenceKind::content || ++count > kExplainedMax) continue;
      wrong[each.lsn].push_back(&each);
      last = std::max(last, each.lsn);
    }
    if (wrong.empty()) return {};
    const auto on_change = [&](const Event& event, bool) -> Result<void> {
      const auto place = wrong.find(event.lsn);
      if (place == wrong.end()) return {};
      for (TopicDifference* const each : place->second) HOLDFAST_TRY(explain(event, *each));
      return {};
    };
    return log_.read(last, items, on_change, on_log());
  }

  Result<void> explain(const Event& event, TopicDifference& difference) {
    const auto message = topics_.at(difference.role, *difference.place);
    if (!message) return message.error();
    const auto value = *message ? record_value(**message) : std::nullopt;
    if (!value) return {};
    difference.topic = differing_members(*value, expected_value(difference.role, event), difference.offer_known);
    if ((*message)->key != event.item->name) {
      difference.topic += fmt::format("{}key \"{}\" instead of \"{}\"", difference.topic.empty() ? "" : ", ",
                                      outside_text((*message)->key), difference.item);
    }
    return {};
  }

  /// Dead letters that nobody has done anything about.
  Result<void> count_letters() {
    for (const KafkaRole role : topics_.roles()) {
      const std::string& topic = topics_.name(role);
      const auto there = topics_.exists(dead_letter_topic(topic));
      if (!there) return there.error();
      if (!*there) continue;
      const auto access = kafka_access(words_.kafka);
      if (!access) return access.error();
      const auto desk = DeadLetterDesk::open(*access, {topic, words_.kafka.cursor_topic});
      if (!desk) return desk.error();
      std::uint64_t& waiting = letters_[topic];
      HOLDFAST_TRY((*desk)->visit([&](MarkedLetter&& each) -> Result<void> {
        waiting += each.mark.state == DeadLetterState::waiting ? 1 : 0;
        return {};
      }));
    }
    return {};
  }

  json::object show(const TopicDifference& difference) const {
    json::object shown{{"kind", view(entry_of(difference.kind).name)}, {"topic", topics_.name(difference.role)}};
    if (difference.place) shown["record"] = place_text(*difference.place);
    if (!difference.item.empty()) {
      shown["item"] = difference.item;
      shown["version"] = difference.version.value();
      shown["sequence"] = difference.sequence.value();
    }
    if (!difference.topic.empty()) shown["says"] = difference.topic;
    if (!difference.log.empty()) shown["log"] = difference.log;
    return shown;
  }

  void print(const TopicCompare& compare) const {
    const TopicDifferences& differences = compare.differences();
    if (json_) {
      print_json(compare, differences);
    } else {
      print_table(compare, differences);
    }
  }

  void print_json(const TopicCompare& compare, const TopicDifferences& differences) const {
    json::object kinds, letters;
    json::array list, cut;
    for (std::size_t kind = 0; kind < kTopicDifferenceKinds; ++kind)
      kinds[view(topic_difference_kinds()[kind].name)] = differences.count(static_cast<TopicDifferenceKind>(kind));
    for (const TopicDifference& difference : differences.kept()) list.push_back(show(difference));
    for (const auto& [topic, partitions] : cut_) cut.emplace_back(topic);
    for (const auto& [topic, waiting] : letters_) letters[topic] = waiting;
    json::object all{{"sink", sink_}, {"log", log_id_text(log_.log())}};
    all["cursor"] = cursor_.value();
    all["begins"] = begins_.value();
    all["oldest"] = log_.oldest().value();
    all["durable"] = log_.durable().value();
    all["orders"] = compare.records(KafkaRole::orders);
    all["events"] = compare.records(KafkaRole::events);
    all["changes"] = compare.changes();
    all["replayed"] = compare.replays();
    all["beginning-deleted"] = std::move(cut);
    all["dead-letters"] = std::move(letters);
    all["differences"] = differences.count();
    all["kinds"] = std::move(kinds);
    all["list"] = std::move(list);
    fmt::print("{}\n", render(all, true));
  }

  void print_table(const TopicCompare& compare, const TopicDifferences& differences) const {
    const std::string orders =
        words_.kafka.orders_topic.empty() ? "" : fmt::format("{} orders and ", compare.records(KafkaRole::orders));
    fmt::print("{}{} events against {} changes of log {}, LSN {} to {}; the topics are at {}\n", orders,
               compare.records(KafkaRole::events), compare.changes(), log_id_text(log_.log()), log_.oldest().value(),
               log_.durable().value(), cursor_.value());
    if (begins_ > Lsn()) fmt::print("the sink began with a snapshot: behind LSN {}\n", begins_.value());
    for (const auto& [topic, partitions] : cut_) {
      fmt::print("{}: the beginning of {} partitions has been deleted; each is compared from its first record on\n",
                 topic, partitions);
    }
    if (compare.replays() > 0) fmt::print("{} sent again by holdfastctl dlt\n", compare.replays());
    for (const auto& [topic, waiting] : letters_) {
      if (waiting > 0) fmt::print("{} dead letters wait: holdfastctl dlt list --topic {}\n", waiting, topic);
    }
    fmt::print("\n{:<10} {:>8}  what it is\n", "kind", "found");
    for (std::size_t kind = 0; kind < kTopicDifferenceKinds; ++kind) {
      const TopicDifferenceKindEntry& entry = topic_difference_kinds()[kind];
      fmt::print("{:<10} {:>8}  {}\n", entry.name, differences.count(static_cast<TopicDifferenceKind>(kind)),
                 entry.what);
    }
    fmt::print("\n");
    std::size_t shown = 0;
    for (const TopicDifference& difference : differences.kept()) {
      if (++shown > kShownMax && !words_.repair) break;
      fmt::print("{}\n", for_terminal(render(show(difference), false)));
      if (words_.repair) fmt::print("  for a person: {}\n", entry_of(difference.kind).person);
    }
    if (differences.count() > std::min(shown, differences.kept().size())) fmt::print("... (--json shows more)\n");
    if (differences.count() == 0) fmt::print("clean\n");
    if (differences.count() > 0 && !words_.repair)
      fmt::print("Nothing is written to topics. --repair says what to do.\n");
  }

  TopicReader& topics_;
  TopicLog log_;
  const ReconcileTopicsWords& words_;
  bool json_;
  std::string sink_;
  Lsn begins_;
  Lsn cursor_;
  std::map<std::string, std::size_t> cut_;        // topic: partitions whose beginning is gone
  std::map<std::string, std::uint64_t> letters_;  // topic: dead letters that wait
  std::optional<ProgressLine> progress_{std::in_place};
};

}  // namespace

std::string topic_kinds_text() {
  std::string text;
  for (const TopicDifferenceKindEntry& kind : topic_difference_kinds())
    text += fmt::format("  {:<10}{}\n            for a person: {}\n", kind.name, kind.what, kind.person);
  return text;
}

Result<int> reconcile_topics(const ReconcileTopicsWords& words, const ServerArguments& arguments) {
  const auto access = kafka_access(words.kafka);
  if (!access) return access.error();
  const auto topics =
      TopicReader::open(*access, {words.kafka.orders_topic, words.kafka.events_topic, words.kafka.cursor_topic});
  if (!topics) return topics.error();
  const auto client = connect(arguments, kTimeout);
  if (!client) return client.error();
  return TopicRun(**topics, **client, words, arguments.json).run();
}

}  // namespace holdfast
