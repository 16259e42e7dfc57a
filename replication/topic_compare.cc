#include "replication/topic_compare.h"

#include "protocol/check.h"
#include "protocol/outside_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <type_traits>

namespace holdfast {
namespace {

constexpr std::size_t index(KafkaRole role) noexcept { return static_cast<std::size_t>(role); }

std::string sequences(Sequence first, Sequence last) {
  return first == last ? fmt::format("sequence {}", first.value())
                       : fmt::format("sequences {} to {}", first.value(), last.value());
}

}  // namespace

/// A record or a change, as it lies in the spill.
struct TopicCompare::Entry {
  enum class Source : std::uint8_t { log, orders, events };
  Sequence sequence;
  Lsn lsn;
  KafkaPlace place;
  RecordSums sums;   // log: of the event
  RecordSums order;  // log, of a RESERVE
  std::uint32_t stream = 0;
  Source source{};
  bool placed = false;       // a RESERVE
  bool offer_known = false;  // log
  bool replay = false;
  bool behind = false;  // a later one of the item stands before it
  std::array<std::uint8_t, 7> unused{};
};

/// All that there is of one change.
struct TopicCompare::Group {
  const Stream& stream;
  Sequence sequence;
  const Entry* log;  // null: the log does not have it
  std::array<std::span<const Entry>, 2> copies;

  std::span<const Entry> of(KafkaRole role) const noexcept { return copies[index(role)]; }
};

TopicCompare::TopicCompare(SpillFiles spill, Lsn after, std::vector<KafkaRole> roles, PartitionOf partition_of)
    : files_(std::move(spill)), after_(after), partition_of_(std::move(partition_of)) {
  static_assert(std::is_trivially_copyable_v<Entry> && sizeof(Entry) == 80);
  for (const KafkaRole role : roles) topics_.at(index(role)).used = true;
}

void TopicCompare::begin_partition(KafkaRole role, std::int32_t partition, bool cut) {
  role_ = role;
  partition_ = partition;
  auto& partitions = topics_.at(index(role)).partitions;
  partitions.resize(std::max(partitions.size(), static_cast<std::size_t>(partition) + 1));
  partitions[static_cast<std::size_t>(partition)].cut = cut;
}

std::uint32_t TopicCompare::stream_of(std::string_view item, ItemVersion version) {
  const auto number = static_cast<std::uint32_t>(streams_.size());
  const auto [place, is_new] = stream_numbers_.try_emplace(fmt::format("{}/{}", version.value(), item), number);
  if (is_new) streams_.push_back({std::string(item), version, {}, {}});
  return place->second;
}

Result<void> TopicCompare::take(const KafkaMessage& message) {
  ++topics_[index(role_)].records;
  const auto record = read_topic_record(role_, message);
  if (!record) {
    TopicDifference found;
    found.kind = TopicDifferenceKind::unknown;
    found.role = role_;
    found.place = message.place;
    found.topic = "no " + std::string(role_ == KafkaRole::orders ? "order" : "event");
    differences_.add(std::move(found));
    return {};
  }
  const std::uint32_t number = stream_of(record->item, record->version);
  Entry entry;
  entry.sequence = record->sequence;
  entry.lsn = record->lsn;
  entry.place = message.place;
  entry.sums = record->sums;
  entry.stream = number;
  entry.source = role_ == KafkaRole::orders ? Entry::Source::orders : Entry::Source::events;
  entry.placed = record->placed;
  entry.replay = record->replay;
  if (record->replay) {
    ++replays_;
  } else {
    entry.behind = follow(streams_[number], number, *record);
  }
  last_named_ = std::max(last_named_, record->lsn);
  return spill(entry);
}

/// Whether the record stands behind a later one.
bool TopicCompare::follow(Stream& stream, std::uint32_t number, const TopicRecord& record) {
  Run& run = stream.runs[index(role_)];
  if (run.partition != partition_) {
    run.divided |= run.partition >= 0;
    run.partition = partition_;
    run.first = run.last = record.sequence;
    const bool whole = after_ == Lsn() && !topics_[index(role_)].partitions[static_cast<std::size_t>(partition_)].cut;
    if (whole) note_gap(number, Sequence(1), Sequence(record.sequence.value() - 1));
    return false;
  }
  if (record.sequence <= run.last) return true;
  note_gap(number, run.last.next(), Sequence(record.sequence.value() - 1));
  run.last = record.sequence;
  return false;
}

void TopicCompare::note_gap(std::uint32_t stream, Sequence first, Sequence last) {
  if (role_ == KafkaRole::events && first <= last && gaps_.size() < kDifferencesMax)
    gaps_.push_back({stream, first, last});
}

Result<void> TopicCompare::take(const Event& event, bool offered) {
  ++changes_;
  const auto [place, is_new] = item_streams_.try_emplace(event.item->number.value());
  if (is_new) place->second = stream_of(outside_text(event.item->name), event.item->version);
  Stream& stream = streams_[place->second];
  if (stream.log_first == Sequence()) stream.log_first = event.sequence;
  Entry entry;
  entry.sequence = event.sequence;
  entry.lsn = event.lsn;
  entry.stream = place->second;
  entry.source = Entry::Source::log;
  entry.placed = event.is(ReservationEvent::reserve);
  entry.offer_known = offered || event.item_change() != nullptr;
  entry.sums = record_sums(event.item->name, expected_value(KafkaRole::events, event));
  if (entry.placed) entry.order = record_sums(event.item->name, expected_value(KafkaRole::orders, event));
  for (std::size_t role = 0; role < topics_.size(); ++role) {
    const Run& run = stream.runs[role];
    if (run.partition < 0 || run.first != event.sequence) continue;
    Partition& partition = topics_[role].partitions[static_cast<std::size_t>(run.partition)];
    partition.begins = std::min(partition.begins, event.lsn);
  }
  return spill(entry);
}

Result<void> TopicCompare::spill(const Entry& entry) {
  const std::uint64_t mixed = (entry.stream * 0x9e3779b97f4a7c15 ^ entry.sequence.value()) * 0xff51afd7ed558ccd;
  return files_.write((mixed >> 32) % kReconcileParts, std::as_bytes(std::span(&entry, 1)));
}

Result<std::vector<TopicCompare::Entry>> TopicCompare::take_part(std::size_t part) {
  HOLDFAST_TRY(files_.rewind(part));
  std::vector<Entry> entries;
  Entry entry;
  while (true) {
    const auto more = files_.read(part, std::as_writable_bytes(std::span(&entry, 1)));
    if (!more) return more.error();
    if (!*more) break;
    entries.push_back(entry);
  }
  files_.drop(part);
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::tie(a.stream, a.sequence, a.source, a.place) < std::tie(b.stream, b.sequence, b.source, b.place);
  });
  return entries;
}

Result<void> TopicCompare::compare(const TopicScope& scope, const std::function<void(std::size_t part)>& progress) {
  scope_ = scope;
  find_beginnings();
  for (std::size_t part = 0; part < kReconcileParts; ++part) {
    const auto entries = take_part(part);
    if (!entries) return entries.error();
    const std::span<const Entry> all(*entries);
    const auto same = [](const Entry& a, const Entry& b) { return a.stream == b.stream && a.sequence == b.sequence; };
    for (std::size_t begin = 0; begin < all.size();) {
      std::array<std::size_t, 3> counts{};
      std::size_t end = begin;
      for (; end < all.size() && same(all[begin], all[end]); ++end) ++counts[static_cast<std::size_t>(all[end].source)];
      Group group{streams_[all[begin].stream], all[begin].sequence, counts[0] > 0 ? &all[begin] : nullptr, {}};
      group.copies[index(KafkaRole::orders)] = all.subspan(begin + counts[0], counts[1]);
      group.copies[index(KafkaRole::events)] = all.subspan(begin + counts[0] + counts[1], counts[2]);
      judge(group);
      begin = end;
    }
    progress(part);
  }
  judge_gaps();
  judge_cursor();
  differences_.sort();
  return {};
}

/// A partition whose first record of some item is older than the log has begun before it.
void TopicCompare::find_beginnings() {
  for (const Stream& stream : streams_) {
    for (std::size_t role = 0; role < topics_.size(); ++role) {
      const Run& run = stream.runs[role];
      if (run.partition >= 0 && run.first < stream.log_first)
        topics_[role].partitions[static_cast<std::size_t>(run.partition)].begins = Lsn();
    }
  }
}

/// The partitions that have, or had, records of an item, and whose beginning is gone.
std::vector<const TopicCompare::Partition*> TopicCompare::cut_partitions(KafkaRole role, const Stream& stream) const {
  const Topic& topic = topics_[index(role)];
  const Run& run = stream.runs[index(role)];
  std::vector<const Partition*> found;
  for (std::size_t i = 0; i < topic.partitions.size(); ++i) {
    if (!topic.partitions[i].cut) continue;
    const auto number = static_cast<std::int32_t>(i);
    const std::int32_t own =
        run.partition >= 0 ? run.partition : partition_of_(role, inside_bytes(stream.item).value_or(""));
    if (run.divided || number == own) found.push_back(&topic.partitions[i]);
  }
  return found;
}

/// What the topic has of an item from the log, it has from this LSN on.
Lsn TopicCompare::begin_of(KafkaRole role, const Stream& stream) const {
  Lsn begins;
  for (const Partition* const each : cut_partitions(role, stream)) begins = std::max(begins, each->begins);
  return begins;
}

bool TopicCompare::is_cut(KafkaRole role, const Stream& stream) const { return !cut_partitions(role, stream).empty(); }

void TopicCompare::judge(const Group& group) {
  for (const KafkaRole role : {KafkaRole::orders, KafkaRole::events}) {
    if (topics_[index(role)].used) judge(role, group);
  }
}

void TopicCompare::judge(KafkaRole role, const Group& group) {
  const auto copies = group.of(role);
  const bool right = group.log != nullptr && (role == KafkaRole::events || group.log->placed);
  const bool original = std::any_of(copies.begin(), copies.end(), [](const Entry& copy) { return !copy.replay; });
  if (!original && is_due(role, group)) miss(difference(TopicDifferenceKind::missing, role, group, nullptr));
  if (!right && !is_before_log(role, group)) {
    for (const Entry& copy : copies) differences_.add(difference(TopicDifferenceKind::unknown, role, group, &copy));
    return;
  }
  if (right && original) has_ = std::max(has_, group.log->lsn);
  judge_copies(role, group);
}

void TopicCompare::judge_copies(KafkaRole role, const Group& group) {
  const Entry* first = nullptr;
  for (const Entry& copy : group.of(role)) {
    if (!copy.replay) {
      if (first != nullptr) {
        TopicDifference found = difference(TopicDifferenceKind::duplicate, role, group, &copy);
        found.topic = fmt::format("{}/{}, too", first->place.partition, first->place.offset);
        differences_.add(std::move(found));
      } else if (copy.behind) {
        differences_.add(difference(TopicDifferenceKind::order, role, group, &copy));
      }
      if (first == nullptr) first = &copy;
    }
    if (group.log == nullptr) continue;
    const RecordSums& sums = role == KafkaRole::orders ? group.log->order : group.log->sums;
    if (copy.sums.rest != sums.rest || (group.log->offer_known && copy.sums.offer != sums.offer))
      differences_.add(difference(TopicDifferenceKind::content, role, group, &copy));
  }
}

/// Whether a record of it must be there.
bool TopicCompare::is_due(KafkaRole role, const Group& group) const {
  if (group.log == nullptr) {
    // The event tells of the order.
    const auto events = group.of(KafkaRole::events);
    return role == KafkaRole::orders && !events.empty() && events[0].placed &&
           is_before_log(KafkaRole::events, group) && !is_cut(role, group.stream);
  }
  if (role == KafkaRole::orders && !group.log->placed) return false;
  return group.log->lsn > after_ && group.log->lsn <= scope_.through && group.log->lsn >= begin_of(role, group.stream);
}

/// Whether it can be a change of before the log's beginning.
bool TopicCompare::is_before_log(KafkaRole role, const Group& group) const {
  const Sequence log_first = group.stream.log_first;
  if (group.log != nullptr || scope_.oldest <= Lsn(1) || (log_first > Sequence() && group.sequence >= log_first))
    return false;
  const auto events = group.of(KafkaRole::events);
  if (events.empty()) return role == KafkaRole::orders && is_cut(KafkaRole::events, group.stream);
  return events[0].lsn < scope_.oldest && (role == KafkaRole::events || events[0].placed);
}

/// Where the log does not show what is missing, the sequences of the events do.
void TopicCompare::judge_gaps() {
  if (scope_.oldest <= Lsn(1)) return;
  for (std::size_t number = 0; number < streams_.size(); ++number) {
    const Run& run = streams_[number].runs[index(KafkaRole::events)];
    if (run.partition >= 0 && run.last < streams_[number].log_first)
      gaps_.push_back({static_cast<std::uint32_t>(number), run.last.next(), streams_[number].log_first});
  }
  for (const Gap& gap : gaps_) {
    const Stream& stream = streams_[gap.stream];
    if (stream.runs[index(KafkaRole::events)].divided) continue;
    const Sequence log_first = stream.log_first;
    const Sequence last = log_first > Sequence() ? std::min(gap.last, Sequence(log_first.value() - 1)) : gap.last;
    if (gap.first > last) continue;
    TopicDifference found;
    found.kind = TopicDifferenceKind::missing;
    found.role = KafkaRole::events;
    found.item = stream.item;
    found.version = stream.version;
    found.sequence = gap.first;
    found.topic = "no record of " + sequences(gap.first, last);
    found.log = "does not reach back so far";
    differences_.add(std::move(found));
  }
}

void TopicCompare::miss(TopicDifference missing) {
  missing.topic = "no record";
  if (missing.lsn != Lsn() && (first_missing_ == Lsn() || missing.lsn < first_missing_)) first_missing_ = missing.lsn;
  missing_.add(std::move(missing));
}

/// Where all is missing behind some change, and nothing before it, it is the cursor that is wrong.
void TopicCompare::judge_cursor() {
  const bool ahead = scope_.later > scope_.durable || (first_missing_ != Lsn() && first_missing_ > has_);
  if (!ahead) differences_.add(std::move(missing_));
  if (!ahead && has_ <= scope_.later) return;
  TopicDifference found;
  found.kind = TopicDifferenceKind::cursor;
  found.role = KafkaRole::cursor;
  found.topic = fmt::format("LSN {}", scope_.later.value());
  found.log =
      fmt::format("the topics have everything through LSN {}{}", has_.value(),
                  scope_.later > scope_.durable ? fmt::format(", and the log ends at {}", scope_.durable.value())
                                                : std::string(ahead ? ", and nothing later" : ""));
  differences_.add(std::move(found));
}

TopicDifference TopicCompare::difference(TopicDifferenceKind kind, KafkaRole role, const Group& group,
                                         const Entry* copy) const {
  TopicDifference found;
  found.kind = kind;
  found.role = role;
  found.item = group.stream.item;
  found.version = group.stream.version;
  found.sequence = group.sequence;
  if (copy != nullptr) found.place = copy->place;
  if (group.log == nullptr) {
    found.log = "knows none";
    return found;
  }
  found.lsn = group.log->lsn;
  found.offer_known = group.log->offer_known;
  found.log = fmt::format("LSN {}{}", group.log->lsn.value(), group.log->placed ? ", RESERVE" : "");
  return found;
}

}  // namespace holdfast
