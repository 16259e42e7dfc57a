#include "replication/kafka_sink.h"

#include "protocol/check.h"
#include "replication/kafka_producer.h"
#include "replication/kafka_reader.h"
#include "replication/limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/uuid/random_generator.hpp>
#include <boost/uuid/uuid_io.hpp>
#include <chrono>
#include <set>

namespace holdfast {
namespace {

constexpr std::array<KafkaRole, kKafkaRoles> kRoles = {KafkaRole::orders, KafkaRole::events, KafkaRole::cursor};

class KafkaSink final : public EventSink {
 public:
  explicit KafkaSink(KafkaSinkSettings settings)
      : settings_(std::move(settings)), owner_(boost::uuids::to_string(boost::uuids::random_generator()())) {
    settings_.access.interrupt = &interrupt_;
  }

  Result<SinkState> open() override { return or_give_up(do_open()); }
  Result<void> apply(const LogId& log, const EventBatch& batch) override;
  Result<std::vector<ParkNotice>> untold(std::size_t notices_max) override;
  // Nothing is parked: what Kafka refuses stops the sink.
  Result<void> told(const std::vector<ParkNotice>&) override { return {}; }
  void interrupt() override { interrupt_.raise(); }
  SinkFigures figures() const override { return figures_; }
  std::vector<std::string> take_alarms() override { return {}; }
  Result<StartReport> bootstrap(StartState& state, bool set_aside) override {
    return or_give_up(do_bootstrap(state, set_aside));
  }
  Result<Cursor> adopt(const LogRange& range) override { return or_give_up(do_adopt(range)); }

 private:
  Result<SinkState> do_open();
  Result<Cursor> do_adopt(const LogRange& range);
  Result<StartReport> do_bootstrap(StartState& state, bool set_aside);
  Result<void> do_apply(const LogId& log, const EventBatch& batch);

  Result<void> look_around();
  Result<KafkaCursorBook> read_book() const;
  Result<KafkaCursorBook> take_over();
  Result<void> check_fresh() const;
  Result<void> check_continues(const KafkaCursor& found) const;
  Result<void> look_again();
  Result<void> begin();
  Result<void> send(const KafkaRecord& record);
  Result<void> write(const KafkaCursor& next, std::span<const KafkaRecord> records);
  Result<void> finish(KafkaCursor next);
  Result<void> note_ends(KafkaCursor& next) const;

  const std::string& topic(KafkaRole role) const noexcept {
    if (role == KafkaRole::cursor) return settings_.cursor_topic;
    return role == KafkaRole::orders ? settings_.orders_topic : settings_.events_topic;
  }
  /// What is said of one of the sink's topics; null when it does without.
  const KafkaTopicFacts* facts(KafkaRole role) const noexcept {
    const auto place =
        std::find_if(facts_.begin(), facts_.end(), [&](const auto& each) { return each.name == topic(role); });
    return place == facts_.end() ? nullptr : &*place;
  }
  Error superseded(const KafkaCursor& found) const {
    return Error::format(ErrorCode::superseded,
                         "another relay has taken over the sink {} under epoch {}; this one had {}", settings_.name,
                         found.cursor.epoch.value(), cursor_.cursor.epoch.value());
  }
  template <class T>
  Result<T> or_give_up(Result<T> result) {
    if (!result) {
      figures_.given_up += in_transaction_ ? 1 : 0;
      in_transaction_ = false;
      producer_.reset();
      look_.reset();
    }
    return result;
  }

  KafkaSinkSettings settings_;
  std::string owner_;  // of this process
  KafkaInterrupt interrupt_;
  std::unique_ptr<KafkaLook> look_;
  std::unique_ptr<KafkaProducer> producer_;
  std::vector<KafkaTopicFacts> facts_;
  std::map<std::string, std::vector<std::int64_t>> ends_;  // of the topics, when the sink was taken over
  KafkaCursor cursor_;                                     // as last written; epoch none: never taken over
  bool wrote_ = false;                                     // since it was last asked for what there is to tell
  std::uint64_t sent_ = 0;                                 // records of the transaction
  bool in_transaction_ = false;                            // one that has not ended
  SinkFigures figures_;
};

/// All topics, the brokers and their settings, as they must be.
Result<void> KafkaSink::look_around() {
  auto look = KafkaLook::connect(settings_.access);
  if (!look) return look.error();
  look_ = std::move(*look);
  facts_.clear();
  for (const KafkaRole role : kRoles) {
    if (topic(role).empty()) continue;
    auto found = look_->topic(topic(role));
    if (!found) return found.error();
    facts_.push_back(std::move(*found));
  }
  HOLDFAST_TRY(look_->settings(facts_));
  for (const KafkaRole role : kRoles) {
    if (!topic(role).empty()) HOLDFAST_TRY(check_kafka_topic(role, *facts(role), settings_.allow_unreplicated));
  }
  const auto broker = look_->broker_settings();
  if (!broker) return broker.error();
  return check_kafka_broker(*broker);
}

Result<KafkaCursorBook> KafkaSink::read_book() const {
  KafkaCursorBook book(settings_.name);
  HOLDFAST_TRY(read_kafka_topic(settings_.access, *look_, settings_.cursor_topic,
                                [&](std::string_view key, auto value) { return book.take(key, value); }));
  return book;
}

/// Makes the sink this relay's; what its cursor topic says.
Result<KafkaCursorBook> KafkaSink::take_over() {
  producer_.reset();
  HOLDFAST_TRY(look_around());
  if (cursor_.cursor.epoch > Epoch()) {
    // Before the id is taken: a relay that slept while another took over must not take it back.
    const auto book = read_book();
    if (!book) return book.error();
    if (kafka_taken_over(book->cursor(), owner_, cursor_.cursor.epoch)) return superseded(*book->cursor());
  }
  const KafkaProducerSettings settings{settings_.access, "holdfast/" + settings_.cursor_topic + "/" + settings_.name,
                                       kafka_batch_bytes(facts_)};
  KafkaTargets targets;
  for (const KafkaRole role : kRoles) {
    if (!topic(role).empty()) targets[static_cast<std::size_t>(role)] = {topic(role), facts(role)->partitions};
  }
  auto producer = KafkaProducer::take_over(settings, std::move(targets));
  if (!producer) return producer.error();
  producer_ = std::move(*producer);
  auto book = read_book();
  if (!book) return book.error();
  if (kafka_taken_over(book->cursor(), owner_, cursor_.cursor.epoch)) return superseded(*book->cursor());
  ends_.clear();
  for (const KafkaRole role : kRoles) {
    if (topic(role).empty()) continue;
    auto ends = look_->ends(topic(role), facts(role)->partitions);
    if (!ends) return ends.error();
    ends_[topic(role)] = std::move(*ends);
  }
  return book;
}

/// Without a cursor, only a sink that never wrote can begin with the log's first record.
Result<void> KafkaSink::check_fresh() const {
  const auto& ends = ends_.at(settings_.events_topic);
  if (cursor_.cursor.epoch == Epoch() &&
      std::all_of(ends.begin(), ends.end(), [](std::int64_t end) { return end == 0; })) {
    return {};
  }
  return Error::format(
      ErrorCode::damaged,
      "kafka: topic {} has no cursor of sink {}, and topic {} has or had records: the cursor topic was "
      "emptied, or others write there; where the sink stood is not known: name other topics, or run "
      "holdfast-relay bootstrap --set-aside, which goes on from a snapshot",
      settings_.cursor_topic, settings_.name, settings_.events_topic);
}

Result<void> KafkaSink::check_continues(const KafkaCursor& found) const {
  for (const KafkaRole role : kRoles) {
    if (topic(role).empty()) continue;
    if (role != KafkaRole::cursor) HOLDFAST_TRY(check_kafka_topic_known(found, topic(role)));
    HOLDFAST_TRY(check_kafka_partitions(found, *facts(role), settings_.accept_partitions));
    HOLDFAST_TRY(check_kafka_ends(found, topic(role), ends_.at(topic(role))));
  }
  return {};
}

Result<SinkState> KafkaSink::do_open() {
  const auto book = take_over();
  if (!book) return book.error();
  if (book->cursor()) {
    HOLDFAST_TRY(check_continues(*book->cursor()));
  } else {
    HOLDFAST_TRY(check_fresh());
  }
  // Without a log at first: a cursor that is there proves that what is in the topics is known.
  KafkaCursor next = book->cursor().value_or(KafkaCursor());
  next.cursor.epoch = std::max(next.cursor.epoch, cursor_.cursor.epoch).next();
  next.owner = owner_;
  cursor_.topics = next.topics = ends_;
  HOLDFAST_TRY(write(next, {}));
  return SinkState{cursor_.cursor, book->items()};
}

Result<void> KafkaSink::begin() {
  sent_ = 0;
  in_transaction_ = true;
  return producer_->begin();
}

Result<void> KafkaSink::send(const KafkaRecord& record) {
  ++sent_;
  return producer_->send(record);
}

/// One transaction: the records, and the cursor behind them.
Result<void> KafkaSink::write(const KafkaCursor& next, std::span<const KafkaRecord> records) {
  HOLDFAST_TRY(begin());
  for (const KafkaRecord& each : records) HOLDFAST_TRY(send(each));
  return finish(next);
}

/// The cursor's record says what its own transaction wrote, so that the newest one, too, can be missed.
Result<void> KafkaSink::finish(KafkaCursor next) {
  HOLDFAST_TRY(producer_->deliver());
  HOLDFAST_TRY(note_ends(next));
  HOLDFAST_TRY(send(cursor_record(settings_.name, next)));
  HOLDFAST_TRY(producer_->deliver());
  HOLDFAST_TRY(note_ends(next));
  const auto began = std::chrono::steady_clock::now();
  HOLDFAST_TRY(producer_->commit());
  figures_.committing += std::chrono::steady_clock::now() - began;
  figures_.records += sent_;
  ++figures_.transactions;
  in_transaction_ = false;
  cursor_ = std::move(next);
  wrote_ = true;
  return {};
}

/// How far the transaction's records reach, which must be behind all that was written before.
Result<void> KafkaSink::note_ends(KafkaCursor& next) const {
  for (const KafkaRole role : kRoles) {
    if (topic(role).empty()) continue;
    std::vector<std::int64_t> ends = producer_->ends(role);
    const auto& before = cursor_.topics.at(topic(role));
    CHECK(ends.size() == before.size());
    // A partition that got nothing is as it was.
    std::transform(ends.begin(), ends.end(), before.begin(), ends.begin(),
                   [](std::int64_t end, std::int64_t was) { return end == 0 ? was : end; });
    HOLDFAST_TRY(check_kafka_ends(cursor_, topic(role), ends));
    next.topics[topic(role)] = std::move(ends);
  }
  return {};
}

Result<void> KafkaSink::apply(const LogId& log, const EventBatch& batch) {
  CHECK(producer_ != nullptr);
  CHECK(!is_log(cursor_.cursor.log) || cursor_.cursor.log == log);
  CHECK(batch.through >= cursor_.cursor.lsn);
  return or_give_up(do_apply(log, batch));
}

Result<void> KafkaSink::do_apply(const LogId& log, const EventBatch& batch) {
  const KafkaRecordMaker maker(log, settings_.headers);
  HOLDFAST_TRY(begin());
  for (const Event& event : batch.events) {
    if (!settings_.orders_topic.empty() && event.is(ReservationEvent::reserve)) {
      HOLDFAST_TRY(send(maker.order(event)));
    }
    HOLDFAST_TRY(send(maker.event(event)));
  }
  for (const KafkaRecord& each : item_records(settings_.name, batch.events)) HOLDFAST_TRY(send(each));
  KafkaCursor next = cursor_;
  if (next.cursor.log != log) HOLDFAST_TRY(send(cursor_end(settings_.name, next.cursor.log)));
  next.cursor.log = log;
  next.cursor.lsn = batch.through;
  return finish(std::move(next));
}

/// A topic that went, or a count of partitions that changed under way: records still go where they would have gone.
Result<void> KafkaSink::look_again() {
  for (const KafkaRole role : kRoles) {
    if (topic(role).empty()) continue;
    const auto found = look_->topic(topic(role));
    if (!found) return found.error();
    if (!found->exists) return check_kafka_topic(role, *found, settings_.allow_unreplicated);
    HOLDFAST_TRY(check_kafka_partitions(cursor_, *found, settings_.accept_partitions));
    if (found->partitions == facts(role)->partitions) continue;
    return Error::format(ErrorCode::io_failed, "kafka: topic {} has {} partitions now: the sink is opened anew",
                         topic(role), found->partitions);
  }
  return {};
}

Result<std::vector<ParkNotice>> KafkaSink::untold(std::size_t) {
  CHECK(producer_ != nullptr);
  HOLDFAST_TRY(or_give_up(look_again()));
  // Who has nothing to write learns here that the sink is another's now.
  if (!wrote_) HOLDFAST_TRY(or_give_up(write(cursor_, {})));
  wrote_ = false;
  return std::vector<ParkNotice>();
}

/// The items of a snapshot. Reservations of before have no events that could be records.
class ItemRecords final : public StartVisitor {
 public:
  explicit ItemRecords(const std::string& sink) : sink_(sink) {}
  Result<void> on_item(const StartItem& item) override {
    records.push_back(item_record(sink_, *item.facts));
    names.insert(item.facts->name);
    return {};
  }
  Result<void> on_orders(const StartItem&, std::span<const OrderChange>) override { return {}; }

  std::vector<KafkaRecord> records;
  std::set<std::string> names;

 private:
  const std::string& sink_;
};

Result<StartReport> KafkaSink::do_bootstrap(StartState& state, bool set_aside) {
  const auto book = take_over();
  if (!book) return book.error();
  const auto& before = book->cursor();
  const auto& ends = ends_.at(settings_.events_topic);
  StartReport report;
  const bool used = before || std::any_of(ends.begin(), ends.end(), [](std::int64_t end) { return end > 0; });
  if (used && !set_aside) {
    return Error::format(
        ErrorCode::bad_option, "topic {} has records{}: --set-aside leaves them there and begins anew behind them",
        settings_.events_topic,
        before ? fmt::format(" up to LSN {} of log {}", before->cursor.lsn.value(), log_id_text(before->cursor.log))
               : "");
  }
  ItemRecords items(settings_.name);
  HOLDFAST_TRY(state.read(items));
  report.items = items.names.size();
  for (const std::string& name : book->item_names()) {
    if (!items.names.contains(name)) items.records.push_back(item_end(settings_.name, name));
  }
  KafkaCursor next;
  if (before) {
    next.cursor.epoch = before->cursor.epoch;
    if (before->cursor.log != state.log()) items.records.push_back(cursor_end(settings_.name, before->cursor.log));
  }
  next.cursor = {state.log(), state.lsn(), std::max(next.cursor.epoch, cursor_.cursor.epoch).next()};
  next.owner = owner_;
  next.begins = state.lsn();
  cursor_.topics = next.topics = next.before = ends_;
  HOLDFAST_TRY(write(next, items.records));
  report.cursor = cursor_.cursor;
  if (used) report.set_aside = settings_.events_topic;
  return report;
}

Result<Cursor> KafkaSink::do_adopt(const LogRange& range) {
  const auto book = take_over();
  if (!book) return book.error();
  if (!book->cursor()) {
    return Error::format(ErrorCode::damaged, "kafka: topic {} has no cursor of sink {}: there is nothing to adopt",
                         settings_.cursor_topic, settings_.name);
  }
  const KafkaCursor& before = *book->cursor();
  HOLDFAST_TRY(check_continues(before));
  HOLDFAST_TRY(check_adoption(before.cursor, range));
  const KafkaRecord end = cursor_end(settings_.name, before.cursor.log);
  KafkaCursor next = before;
  next.cursor = {range.log, before.cursor.lsn, before.cursor.epoch.next()};
  next.owner = owner_;
  cursor_.topics = next.topics = ends_;
  HOLDFAST_TRY(write(next, std::span(&end, 1)));
  return cursor_.cursor;
}

}  // namespace

std::unique_ptr<EventSink> make_kafka_sink(KafkaSinkSettings settings) {
  return std::make_unique<KafkaSink>(std::move(settings));
}

}  // namespace holdfast
