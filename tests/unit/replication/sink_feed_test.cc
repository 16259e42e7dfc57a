#include "replication/sink_feed.h"

#include "tests/unit/replication/log_maker.h"

#include <deque>
#include <functional>
#include <set>

#include "tests/doctest.h"

using namespace holdfast;
using namespace holdfast::test;

namespace {

/// A sink in memory, whose calls fail when they are told to, before or after they took effect.
struct FakeSink final : EventSink {
  Cursor cursor;
  SinkItems items;
  std::vector<Event> events;
  std::vector<std::size_t> batches;
  std::deque<Error> open_failures, apply_failures;
  bool took_effect = false;  // of a failed apply
  std::vector<ParkNotice> notices;
  SinkFigures counted;
  std::size_t tended = 0;

  Result<SinkState> open() override {
    if (!open_failures.empty()) return take(open_failures);
    cursor.epoch = cursor.epoch.next();
    return SinkState{cursor, items};
  }
  Result<void> apply(const LogId& log, const EventBatch& batch) override {
    const bool fails = !apply_failures.empty();
    if (!fails || took_effect) {
      REQUIRE((batch.events.empty() || batch.events.front().lsn > cursor.lsn));
      cursor.log = log;
      cursor.lsn = batch.through;
      for (const Event& event : batch.events) {
        events.push_back(event);
        if (event.item_change() != nullptr) items.put(event.item);
      }
      batches.push_back(batch.events.size());
    }
    if (fails) return take(apply_failures);
    return {};
  }
  Result<void> tend(Millis) override {
    ++tended;
    return {};
  }
  Result<std::vector<ParkNotice>> untold(std::size_t notices_max) override {
    return std::vector<ParkNotice>(
        notices.begin(), notices.begin() + static_cast<std::ptrdiff_t>(std::min(notices_max, notices.size())));
  }
  Result<void> told(const std::vector<ParkNotice>& done) override {
    notices.erase(notices.begin(), notices.begin() + static_cast<std::ptrdiff_t>(done.size()));
    return {};
  }
  SinkFigures figures() const override { return counted; }
  std::vector<std::string> take_alarms() override { return {}; }
  Result<StartReport> bootstrap(StartState&, bool) override { return StartReport(); }
  Result<Cursor> adopt(const LogRange&) override { return cursor; }

  static Error take(std::deque<Error>& failures) {
    const Error error = failures.front();
    failures.pop_front();
    return error;
  }
};

struct FakeSource final : LogSource {
  LogRange range;
  std::vector<std::pair<Lsn, std::string>> batches;  // last LSN of each
  std::deque<Error> failures;
  std::vector<Lsn> acknowledged;
  std::size_t told = 0;
  std::size_t reads = 0;
  std::size_t looks = 0;
  std::function<void()> after_first_look;
  bool takes_acknowledgements = true;
  bool takes_notices = true;

  void add(LogMaker& log) {
    std::string batch = log.batch();
    range.durable = Lsn(log.next_lsn().value() - 1);
    batches.emplace_back(range.durable, std::move(batch));
  }
  Result<LogRange> look() override {
    if (!failures.empty()) return FakeSink::take(failures);
    const LogRange seen = range;
    if (looks++ == 0 && after_first_look) after_first_look();
    return seen;
  }
  Result<LogPage> read(Lsn from, std::size_t, Millis) override {
    ++reads;
    if (!failures.empty()) return FakeSink::take(failures);
    LogPage page{range, {}};
    for (const auto& [last, bytes] : batches) {
      if (last >= from) page.batches += bytes;
    }
    return page;
  }
  Result<void> acknowledge(const std::string& sink, Lsn lsn, const std::vector<ParkNotice>& notices) override {
    CHECK(sink == "fake");
    if (!takes_acknowledgements || (!takes_notices && !notices.empty())) return Error(ErrorCode::err, "no");
    acknowledged.push_back(lsn);
    told += notices.size();
    return {};
  }
};

struct Bench {
  Bench() {
    source.range = {log.log, Lsn(1), Lsn()};
    auto& item = log.create("a", 1'000'000);
    for (std::uint64_t id = 1; id <= 12'000; ++id) {
      log.reserve(item, id, std::to_string(id));
      if (id % 4000 == 0) source.add(log);
    }
  }
  /// Steps until it has all, or does not go on; the waits that it asked for.
  std::vector<Millis> run() {
    std::vector<Millis> pauses;
    for (int i = 0; i < 1000 && !feed.over() && (sink.cursor.lsn < source.range.durable || feed.status().lag() > 0);
         ++i) {
      const Millis pause = feed.step(now);
      if (pause > Millis(0)) pauses.push_back(pause);
      now += pause;
    }
    // Whoever asks again and gets nothing new is well.
    now += kGatherTime;
    source.batches.clear();
    if (!feed.over()) feed.step(now);
    return pauses;
  }

  LogMaker log;
  FakeSink sink;
  FakeSource source;
  SinkFeed feed{"fake", sink, source, 1};
  Millis now{1000};
};

bool is_whole(const FakeSink& sink) {
  for (std::size_t i = 0; i < sink.events.size(); ++i) {
    if (sink.events[i].sequence != Sequence(i + 1)) return false;
  }
  return sink.events.size() == 12'002;
}

}  // namespace

TEST_CASE("sink_feed: everything comes once, in bounded batches, each acknowledged when the sink has it") {
  Bench bench;
  bench.run();
  CHECK(is_whole(bench.sink));
  for (const std::size_t size : bench.sink.batches) CHECK(size <= kBatchEventsMax);
  CHECK(bench.source.acknowledged.front() == Lsn(0));
  CHECK(bench.source.acknowledged.back() == bench.source.range.durable);
  CHECK(std::is_sorted(bench.source.acknowledged.begin(), bench.source.acknowledged.end()));
  CHECK(bench.feed.status().state == FeedState::running);
  CHECK(bench.feed.status().events == 12'002);
  CHECK(bench.feed.status().lag() == 0);
}

TEST_CASE("sink_feed: a sink that has all gathers what comes meanwhile") {
  Bench bench;
  bench.run();
  const std::size_t until = bench.source.reads;
  CHECK(bench.feed.step(bench.now) > Millis(0));
  CHECK(bench.source.reads == until);
  bench.now += kGatherTime;
  CHECK(bench.feed.step(bench.now) == Millis(0));
  CHECK(bench.source.reads == until + 1);
}

TEST_CASE("sink_feed: a write whose outcome is not known is neither lost nor repeated") {
  for (const bool took_effect : {false, true}) {
    Bench bench;
    bench.sink.took_effect = took_effect;
    for (int i = 0; i < 5; ++i) bench.sink.apply_failures.emplace_back(ErrorCode::io_failed, "cut off");
    const auto pauses = bench.run();
    CHECK(is_whole(bench.sink));
    CHECK(bench.feed.status().failures >= (took_effect ? 3 : 5));
    CHECK(bench.feed.status().error.empty());
    CHECK(!pauses.empty());
  }
}

TEST_CASE("sink_feed: waits grow and end, and a server that was away costs the sink nothing") {
  Bench bench;
  for (int i = 0; i < 20; ++i) bench.source.failures.emplace_back(ErrorCode::io_failed, "nobody there");
  const auto pauses = bench.run();
  REQUIRE(pauses.size() >= 20);
  CHECK(pauses[0] <= kBackOffFirst);
  CHECK(pauses[0] >= kBackOffFirst / 2);
  for (const Millis pause : pauses) CHECK(pause <= kBackOffLast);
  CHECK(pauses[19] >= kBackOffLast / 2);
  CHECK(std::set<Millis>(pauses.end() - 10, pauses.end()).size() > 5);  // not all who wait come at the same time
  CHECK(bench.sink.cursor.epoch == Epoch(1));
  bench.source.failures.emplace_back(ErrorCode::io_failed, "gone");
  bench.now += kGatherTime;
  CHECK(bench.feed.step(bench.now) > Millis(0));
  CHECK(bench.feed.status().state == FeedState::retrying);
  CHECK(bench.feed.status().error == "gone");
  bench.feed.step(bench.now);
  CHECK(bench.feed.status().state == FeedState::running);
  CHECK(bench.sink.cursor.epoch == Epoch(1));
}

TEST_CASE("sink_feed: waits grow as well when the sink can be opened and takes nothing") {
  Bench bench;
  for (int i = 0; i < 10; ++i) bench.sink.apply_failures.emplace_back(ErrorCode::no_space, "full");
  std::vector<Millis> pauses;
  while (!bench.sink.apply_failures.empty()) {
    const Millis pause = bench.feed.step(bench.now);
    if (pause > Millis(0)) pauses.push_back(pause);
    if (bench.feed.status().failures > 0) CHECK(bench.feed.status().state == FeedState::retrying);
  }
  REQUIRE(pauses.size() == 10);
  CHECK(pauses[9] >= kBackOffLast / 2);
  bench.run();
  CHECK(bench.feed.status().state == FeedState::running);
  CHECK(is_whole(bench.sink));
}

TEST_CASE("sink_feed: a sink that another relay fills until it is taken over is not ahead of the log") {
  Bench bench;
  bench.source.after_first_look = [&] {
    bench.log.reserve(bench.log.create("b", 10), 1, "1");
    bench.source.add(bench.log);
    bench.sink.cursor = {bench.log.log, bench.source.range.durable, Epoch(1)};
  };
  bench.feed.step(bench.now);
  CHECK(bench.feed.status().state == FeedState::running);
  CHECK(bench.feed.status().lag() == 0);
}

TEST_CASE("sink_feed: what a person must look at stops it, at once and for good") {
  for (const auto code : {ErrorCode::damaged, ErrorCode::foreign, ErrorCode::unsupported, ErrorCode::no_perm}) {
    Bench bench;
    bench.sink.apply_failures.emplace_back(code, "look");
    bench.run();
    CHECK(bench.feed.status().state == FeedState::stopped);
    CHECK(bench.feed.status().error == "look");
    CHECK(bench.sink.events.empty());
  }
  Bench bench;
  bench.sink.open_failures.emplace_back(ErrorCode::superseded, "the other one");
  bench.run();
  CHECK(bench.feed.status().state == FeedState::superseded);
}

TEST_CASE("sink_feed: another log, a log that is shorter, and a gap stop it before anything is written") {
  {
    Bench bench;
    bench.sink.cursor = {LogId{9}, Lsn(5), Epoch(1)};
    bench.run();
    CHECK(bench.feed.status().state == FeedState::stopped);
    CHECK(bench.feed.status().error.find("of log 09000000") != std::string::npos);
  }
  {
    Bench bench;
    bench.run();
    bench.source.range.durable = Lsn(100);
    bench.now += kGatherTime;
    bench.feed.step(bench.now);
    CHECK(bench.feed.status().state == FeedState::stopped);
    CHECK(bench.feed.status().error.find("the server's log ends at 100") != std::string::npos);
  }
  {
    Bench bench;
    bench.source.batches.erase(bench.source.batches.begin());
    bench.run();
    CHECK(bench.feed.status().state == FeedState::stopped);
    CHECK(bench.feed.status().error.find("LSN 1 should come next") != std::string::npos);
    CHECK(bench.sink.events.empty());
  }
}

TEST_CASE("sink_feed: the server is told of what is parked, again until it took it") {
  Bench bench;
  for (std::size_t i = 0; i < kNoticesMax + 3; ++i)
    bench.sink.notices.push_back({ItemNumber(1), Sequence(i), "a", ItemVersion(1), "x", "no_room"});
  bench.source.takes_acknowledgements = false;
  bench.run();
  CHECK(is_whole(bench.sink));
  CHECK(bench.sink.notices.size() == kNoticesMax + 3);
  CHECK(bench.feed.status().unacknowledged > 0);
  bench.source.takes_acknowledgements = true;
  for (int i = 0; i < 4; ++i) {
    bench.now += kNoticesEvery;
    bench.feed.step(bench.now);
  }
  CHECK(bench.sink.notices.empty());
  CHECK(bench.source.told == kNoticesMax + 3);
}

TEST_CASE("sink_feed: a server that will not be told what is parked is still told how far the sink is") {
  Bench bench;
  bench.sink.notices.push_back({ItemNumber(1), Sequence(1), "a", ItemVersion(1), "x", "no_room"});
  bench.source.takes_notices = false;
  bench.run();
  CHECK(bench.source.acknowledged.back() == bench.source.range.durable);
  CHECK(bench.sink.notices.size() == 1);
}

TEST_CASE("sink_feed: a sink is given time when it is taken over and every few seconds, not with each batch") {
  Bench bench;
  bench.run();
  CHECK(bench.sink.batches.size() >= 3);
  CHECK(bench.sink.tended == 1);
  bench.now += kTendEvery;
  bench.feed.step(bench.now);
  CHECK(bench.sink.tended == 2);
  bench.feed.step(bench.now);
  CHECK(bench.sink.tended == 2);
}
