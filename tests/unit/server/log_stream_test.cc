#include "server/log_stream.h"

#include "storage/log_feed.h"
#include "storage/log_files.h"
#include "storage/segment_reader.h"
#include "tests/doctest.h"
#include "tests/unit/server/reply_value.h"
#include "tests/unit/storage/log_fixture.h"

#include <fmt/format.h>

namespace holdfast::test {
namespace {

constexpr ConnectionKey kOne{1, 1}, kOther{2, 1};

/// A log with a reader beside it.
class Bench final : public LogFeed {
 public:
  explicit Bench(std::size_t kept = 1_MiB, FsyncPolicy fsync = FsyncPolicy::always, std::uint64_t log_bytes_max = 1_GiB)
      : recent(kept), driver(disk, clock, 7, fsync) {
    driver.settings.feed = this;
    REQUIRE(said(driver.open()) == "");
    LogReader reader(disk, "/data/log", driver.log->identity().id, recent);
    auto sinks = SinkRegistry::open(disk, "/data/log");
    REQUIRE(said(sinks) == "");
    REQUIRE(said(sinks->attach(driver.log->identity(), [](std::string_view) {})) == "");
    stream.emplace(LogStream::Settings{driver.log->identity(), log_bytes_max},
                   LogView(std::move(reader), ItemDirectory(), Lsn()), SnapshotFiles(disk, "/data/log"),
                   std::move(*sinks), moment());
  }

  void on_written(std::span<const std::byte> batch, const BatchHeader& header) override { recent.add(batch, header); }
  void on_durable(Lsn lsn) override { durable = lsn; }

  void write(int batches, std::size_t records = 8) {
    for (int i = 0; i < batches; ++i) {
      REQUIRE(said(driver.write(records)) == "");
      REQUIRE(said(driver.tick()) == "");
    }
  }
  LogStream::Moment moment() const {
    return {durable, now, wall_time(1'800'000'000'000 + now.count()), driver.log->status().segment_used_bytes.load()};
  }
  void see() { stream->see(moment()); }

  void send(std::initializer_list<std::string> words, ConnectionKey connection = kOne,
            RespVersion version = RespVersion::resp2) {
    StreamRequest request;
    request.words = words;
    const std::vector<std::string_view> views(request.words.begin(), request.words.end());
    const auto entry = find_command(views);
    REQUIRE(entry.has_value());
    request.entry = *entry;
    request.address.connection = connection;
    request.version = version;
    stream->ask(std::move(request));
  }
  /// Replies that can be made now, one after the other.
  std::string run() {
    std::string bytes;
    while (stream->run_one()) {
      for (const StreamReply& reply : stream->take_replies()) bytes += reply.bytes;
    }
    for (const StreamReply& reply : stream->take_replies()) bytes += reply.bytes;
    return bytes;
  }
  std::string ask(std::initializer_list<std::string> words, RespVersion version = RespVersion::resp2) {
    see();
    send(words, kOne, version);
    return run();
  }
  testing::ReplyValue value(std::initializer_list<std::string> words) {
    return testing::ReplyValue::decode(ask(words));
  }
  /// The ids of an XRANGE's entries.
  std::vector<Lsn> ids(const testing::ReplyValue& entries) {
    std::vector<Lsn> found;
    for (const testing::ReplyValue& entry : entries.items) {
      const auto id = StreamId::parse(entry.items.at(0).text, 1);
      REQUIRE((id && id->part == 0));
      found.emplace_back(id->lsn);
    }
    return found;
  }

  SimulatedDisk disk;
  VirtualClock clock;
  RecentBatches recent;
  Lsn durable;
  Millis now{1000};
  LogDriver driver;
  std::optional<LogStream> stream;
};

}  // namespace

TEST_CASE("log stream: XRANGE shows every record but the clocks, once and in order; XLEN counts them") {
  for (const std::size_t kept : {std::size_t{0}, std::size_t{1_MiB}}) {
    Bench bench(kept);
    bench.write(50);
    std::vector<Lsn> expected, found;
    for (const auto& [lsn, line] : bench.driver.lines) expected.push_back(lsn);
    CHECK(bench.ask({"XLEN", "log"}) == fmt::format(":{}\r\n", expected.size()));
    for (std::string from = "-";;) {  // as clients walk over a stream
      const auto page = bench.ids(bench.value({"XRANGE", "log", from, "+", "COUNT", "7"}));
      if (page.empty()) break;
      CHECK(page.size() <= 7);
      found.insert(found.end(), page.begin(), page.end());
      from = "(" + entry_id(page.back());
    }
    CHECK(found == expected);
    const auto all = bench.value({"XREAD", "STREAMS", "log", "0"});
    CHECK(bench.ids(all.items.at(0).items.at(1)) == expected);
  }
}

TEST_CASE("log stream: nothing is shown before it is durable, whatever the policy") {
  Bench bench(1_MiB, FsyncPolicy::everysec);
  bench.write(3);
  const Lsn written = bench.driver.log->written_lsn();
  REQUIRE(bench.durable < written);
  CHECK(bench.ask({"XRANGE", "log", "-", "+"}) == "*0\r\n");
  CHECK(bench.ask({"XLEN", "log"}) == ":0\r\n");
  CHECK(bench.ask({"LOG", "READ", std::to_string(written.value()), "MAXBYTES", "1"}).starts_with("-LOGAHEAD "));
  bench.send({"XREAD", "BLOCK", "0", "STREAMS", "log", "0"});
  CHECK(bench.run() == "");
  bench.clock.advance(std::chrono::seconds(2));
  REQUIRE(said(bench.driver.tick()) == "");
  REQUIRE(bench.durable == written);
  bench.see();
  const auto shown = testing::ReplyValue::decode(bench.run());
  CHECK(bench.ids(shown.items.at(0).items.at(1)).size() == bench.driver.lines.size());
}

TEST_CASE("log stream: LOG READ gives whole batches as on disk, at least one, up to MAXBYTES") {
  for (const std::size_t kept : {std::size_t{0}, std::size_t{1_MiB}}) {
    Bench bench(kept);
    bench.write(20);
    bench.see();
    const auto lsn = [&](const testing::ReplyValue& value) { return Lsn(static_cast<std::uint64_t>(value.number)); };
    std::string whole;
    for (Lsn next(1); next <= bench.durable;) {
      const auto reply = bench.value({"LOG", "READ", std::to_string(next.value()), "MAXBYTES", "1"});
      CHECK(reply.items.at(0).text == log_id_text(bench.driver.log->identity().id));
      CHECK(lsn(reply.items.at(1)) == Lsn(1));
      CHECK(lsn(reply.items.at(2)) == bench.durable);
      const std::string& bytes = reply.items.at(3).text;
      const auto header = read_batch_header(std::as_bytes(std::span(bytes)));
      REQUIRE(header.has_value());
      CHECK(header->first_lsn == next);
      CHECK(bytes.size() == segment_format::padded_bytes(header->body_bytes));
      CHECK(body_is_sound(*header, std::as_bytes(std::span(bytes)).subspan(segment_format::kBatchHeaderBytes)));
      whole += bytes;
      next = header->last_lsn().next();
    }
    const auto all = bench.value({"LOG", "READ", "1", "MAXBYTES", "99999999"});
    CHECK(all.items.at(3).text == whole);
    const auto some = bench.value({"LOG", "READ", "2", "MAXBYTES", "20000"});
    CHECK(some.items.at(3).text.size() <= 20'000);
    CHECK(whole.starts_with(some.items.at(3).text));
    const std::string end = std::to_string(bench.durable.value() + 1);
    CHECK(bench.value({"LOG", "READ", end, "MAXBYTES", "1"}).items.at(3).text.empty());
    CHECK(bench.ask({"LOG", "READ", std::to_string(bench.durable.value() + 2), "MAXBYTES", "1"}) ==
          fmt::format("-LOGAHEAD LSN {} is ahead: the log is durable up to {}\r\n", bench.durable.value() + 2,
                      bench.durable.value()));
  }
}

TEST_CASE("log stream: below the oldest segment LOG READ says so, and streams begin there") {
  Bench bench(0);
  bench.write(60);
  bench.see();
  REQUIRE(bench.ask({"XLEN", "log"}).size() > 3);
  for (const std::uint64_t number : {1U, 2U}) REQUIRE(said(bench.disk.remove(segment_path("/data/log", number))) == "");
  const auto oldest = bench.value({"LOG", "READ", std::to_string(bench.durable.value()), "MAXBYTES", "1"});
  const std::int64_t first = oldest.items.at(1).number;
  CHECK(first > 1);
  CHECK(bench.ask({"LOG", "READ", "1", "MAXBYTES", "1"}) ==
        fmt::format("-LOGGONE LSN 1 is gone: the oldest record that is kept is {}\r\n", first));
  std::int64_t left = 0;
  for (const auto& [lsn, line] : bench.driver.lines) left += lsn >= Lsn(static_cast<std::uint64_t>(first)) ? 1 : 0;
  CHECK(bench.ask({"XLEN", "log"}) == fmt::format(":{}\r\n", left));
  CHECK(bench.ids(bench.value({"XRANGE", "log", "-", "+"})).size() == static_cast<std::size_t>(left));
}

TEST_CASE("log stream: who waits is answered when more is durable, when his time is over, or when he is to stop") {
  Bench bench;
  bench.write(1);
  bench.see();
  const std::string next = std::to_string(bench.durable.value() + 1);
  bench.send({"XREAD", "BLOCK", "100", "STREAMS", "log", "$"});
  bench.send({"LOG", "READ", next, "MAXBYTES", "1", "BLOCK", "200"}, kOther);
  CHECK(bench.run() == "");
  CHECK(bench.stream->waiting() == 2);
  CHECK(bench.stream->awaited() == bench.durable.next());
  CHECK(bench.stream->due() == Millis(1100));
  SUBCASE("more is durable") {
    bench.write(1);
    bench.see();
    const std::string replies = bench.run();
    CHECK(replies.starts_with("*1\r\n*2\r\n$3\r\nlog\r\n"));
    CHECK(replies.find("HFBT") != std::string::npos);
  }
  SUBCASE("their time is over") {
    bench.now = Millis(1100);
    bench.see();
    CHECK(bench.run() == "*-1\r\n");
    bench.now = Millis(1200);
    bench.see();
    CHECK(bench.run().ends_with("$0\r\n\r\n"));
  }
  SUBCASE("one is unblocked, one is gone") {
    bench.stream->end({}, kOne, WaitEnd::fail);
    bench.stream->end({}, kOther, WaitEnd::forget);
    CHECK(bench.run() == "-UNBLOCKED client unblocked via CLIENT UNBLOCK\r\n");
  }
  SUBCASE("a connection in the same place later is another one") {
    bench.stream->end({}, {kOne.index, kOne.generation + 1}, WaitEnd::answer);
    CHECK(bench.stream->waiting() == 2);
    bench.stream->end({}, kOne, WaitEnd::answer);
    CHECK(bench.run() == "*-1\r\n");
    bench.stream->end({}, kOther, WaitEnd::forget);
  }
  SUBCASE("the server stops") {
    bench.stream->stop();
    CHECK(bench.run().starts_with("*-1\r\n*4\r\n"));
    bench.send({"XREAD", "BLOCK", "100", "STREAMS", "log", "$"});
    CHECK(bench.run() == "*-1\r\n");
  }
  CHECK(bench.stream->waiting() == 0);
  CHECK(bench.stream->awaited() == Lsn(UINT64_MAX));
  CHECK(bench.stream->due() == Millis::max());
}

TEST_CASE("log stream: who waits for something far ahead is left alone until then") {
  Bench bench;
  bench.write(1);
  bench.see();
  bench.send({"XREAD", "BLOCK", "0", "STREAMS", "log", "other", "1000000", "$"});
  CHECK(bench.run() == "");
  CHECK(bench.stream->awaited() == Lsn(1'000'001));
  bench.write(5);
  bench.see();
  CHECK(bench.stream->idle());
  bench.send({"XREAD", "BLOCK", "0", "STREAMS", "other", "0"}, kOther);
  CHECK(bench.run() == "");
  CHECK(bench.stream->awaited() == Lsn(1'000'001));
  bench.send({"XREAD", "BLOCK", "0", "STREAMS", "log", "18446744073709551615"}, {3, 1});
  CHECK(bench.run() == "");
  CHECK(bench.stream->waiting() == 3);
}

TEST_CASE("log stream: other keys are streams without entries") {
  Bench bench;
  bench.write(1);
  CHECK(bench.ask({"XLEN", "other"}) == ":0\r\n");
  CHECK(bench.ask({"XRANGE", "other", "-", "+", "COUNT", "0"}) == "*0\r\n");
  CHECK(bench.ask({"XRANGE", "log", "-", "+", "COUNT", "0"}) == "*-1\r\n");
  CHECK(bench.ask({"XREAD", "STREAMS", "other", "0"}) == "*-1\r\n");
  CHECK(bench.ask({"XREAD", "STREAMS", "other", "0"}, RespVersion::resp3) == "_\r\n");
  CHECK(bench.ask({"XINFO", "STREAM", "other"}) == "-ERR no such key\r\n");
  CHECK(bench.ask({"XREAD", "STREAMS", "log", "0"}, RespVersion::resp3).starts_with("%1\r\n$3\r\nlog\r\n*"));
}

TEST_CASE("log stream: XINFO STREAM shows the ends of the log") {
  Bench bench;
  CHECK(bench.ask({"XINFO", "STREAM", "log"}).find("recorded-first-entry-id\r\n$3\r\n0-0\r\n") != std::string::npos);
  CHECK(bench.ask({"XINFO", "STREAM", "log"}).ends_with("$11\r\nfirst-entry\r\n$-1\r\n$10\r\nlast-entry\r\n$-1\r\n"));
  bench.write(6);
  const auto info = bench.value({"XINFO", "STREAM", "log"});
  REQUIRE(info.items.size() == 20);
  CHECK(info.items.at(1).number == static_cast<std::int64_t>(bench.driver.lines.size()));
  CHECK(info.items.at(7).text == entry_id(bench.durable));
  CHECK(info.items.at(17).items.at(0).text == entry_id(bench.driver.lines.begin()->first));
  CHECK(info.items.at(19).items.at(0).text == entry_id(bench.driver.lines.rbegin()->first));
  const auto full = bench.value({"XINFO", "STREAM", "log", "FULL", "COUNT", "3"});
  REQUIRE(full.items.size() == 18);
  CHECK(bench.ids(full.items.at(15)).size() == 3);
  CHECK(full.items.at(17).items.empty());
}

TEST_CASE("log stream: entries stop at a byte budget, and LOG READ at the largest reply") {
  Bench bench(64_MiB);
  bench.write(900, 60);
  bench.see();
  const std::string entries = bench.ask({"XRANGE", "log", "-", "+"});
  CHECK(entries.size() >= kEntryBytesMax);
  CHECK(entries.size() < kEntryBytesMax + 4_KiB);
  const std::string batches = bench.ask({"LOG", "READ", "1", "MAXBYTES", "99999999"});
  CHECK(batches.size() > kReplyBytesMax / 2);
  CHECK(batches.size() <= kReplyBytesMax);
}

TEST_CASE("log stream: LOG ACK registers and moves sinks, LOG SINKS shows them") {
  Bench bench;
  bench.write(20);
  CHECK(bench.ask({"LOG", "ACK", "pg", "0"}) == "+OK\r\n");
  const auto half = bench.durable.value() / 2;
  CHECK(bench.ask({"LOG", "ACK", "kafka", std::to_string(half), "PARK", "{i}", "3", "17", "no_room", "UNPARK", "j", "1",
                   "00000000-0000-4000-8000-00000000000A"}) == "+OK\r\n");
  const auto board = bench.stream->take_board();
  REQUIRE(board != nullptr);
  CHECK(bench.stream->take_board() == nullptr);
  REQUIRE(board->find("kafka") != nullptr);
  CHECK(board->find("kafka")->parked->begin()->first == ParkedKey{"i", ItemVersion(3), "17"});
  CHECK(board->slowest()->name == "pg");
  CHECK(bench.stream->sinks_hold() == Lsn());
  bench.now += Millis(500);
  const auto shown = bench.value({"LOG", "SINKS"});
  CHECK(shown.at("log_id").text == log_id_text(bench.driver.log->identity().id));
  CHECK(shown.at("forked_from_log_id").text.empty());
  CHECK(shown.at("forked_from_lsn").number == 0);
  CHECK(shown.at("durable_lsn").number == static_cast<std::int64_t>(bench.durable.value()));
  const auto& sinks = shown.at("sinks").items;
  REQUIRE(sinks.size() == 2);
  CHECK(sinks[0].at("name").text == "kafka");
  CHECK(sinks[0].at("lsn").number == static_cast<std::int64_t>(half));
  CHECK(sinks[0].at("lag_records").number == static_cast<std::int64_t>(bench.durable.value() - half));
  CHECK(sinks[0].at("parked").number == 1);
  CHECK(sinks[0].at("age_ms").number == 500);
  CHECK(sinks[1].at("lag_bytes").number > sinks[0].at("lag_bytes").number);
  CHECK(sinks[0].at("lag_bytes").number > 0);
  CHECK(bench.ask({"LOG", "ACK", "pg", "1"}) == "+OK\r\n");
  CHECK(bench.ask({"LOG", "ACK", "pg", "0"}) == "-ERR sink pg has acknowledged LSN 1 already, 0 is below it\r\n");
  CHECK(bench.ask({"LOG", "SINKS", "DROP", "pg"}).starts_with("-ERR "));
  CHECK(bench.ask({"LOG", "SINKS", "DROP", "pg", "CONFIRM"}) == "+OK\r\n");
  CHECK(bench.ask({"LOG", "SINKS", "DROP", "pg", "CONFIRM"}) == "-ERR no sink 'pg' is registered\r\n");
  CHECK(bench.stream->sinks_hold() == Lsn(half));
}

TEST_CASE("log stream: LOG ACK says what is wrong with it") {
  Bench bench;
  bench.write(1);
  for (const char* name : {"", "two words", "done", "Durable", "\x7f"}) {
    CHECK(bench.ask({"LOG", "ACK", name, "0"}).starts_with("-ERR a sink's name has 1-64 printable bytes"));
  }
  CHECK(bench.ask({"LOG", "ACK", "pg", "-1"}) == "-ERR lsn must be a number, got '-1'\r\n");
  CHECK(bench.ask({"LOG", "ACK", "pg", "0", "PARK", "i", "1", "5"}) ==
        "-ERR PARK needs item, version, id and reason\r\n");
  CHECK(bench.ask({"LOG", "ACK", "pg", "0", "UNPARK", "i", "0", "5"}).starts_with("-ERR version must be"));
  CHECK(bench.ask({"LOG", "ACK", "pg", "0", "UNPARK", "i", "1", "x"}).starts_with("-ERR what is parked has a UUID"));
  CHECK(bench.ask({"LOG", "ACK", "pg", "0", "PARK", "i", "1", "5", "no room"}).starts_with("-ERR a reason has"));
  CHECK(bench.ask({"LOG", "ACK", "pg", "0", "KEEP"}) == "-ERR expected PARK or UNPARK, got 'KEEP'\r\n");
  CHECK(bench.stream->board().sinks.empty());
}

TEST_CASE("log stream: a sink that is ahead of the log stops sales until it is dropped") {
  Bench bench;
  bench.write(1);
  bench.see();
  const std::string ahead = std::to_string(bench.durable.value() + 5);
  CHECK(bench.ask({"LOG", "ACK", "pg", ahead}).starts_with("-FENCED log: sink pg acknowledged LSN " + ahead));
  CHECK(bench.stream->board().fenced.starts_with("log: sink pg acknowledged LSN " + ahead));
  bench.write(10);
  CHECK(bench.ask({"LOG", "ACK", "pg", ahead}).starts_with("-FENCED "));
  CHECK(bench.ask({"LOG", "SINKS", "DROP", "pg", "CONFIRM"}) == "+OK\r\n");
  CHECK(bench.stream->board().fenced.empty());
}

TEST_CASE("log stream: a sink that keeps too much of the log stops sales, by name, until it goes on or is dropped") {
  Bench bench(0, FsyncPolicy::always, 5 * kSegmentBytesMin);
  bench.write(1);
  CHECK(bench.ask({"LOG", "ACK", "slow", "0"}) == "+OK\r\n");
  CHECK(bench.ask({"LOG", "ACK", "quick", "0"}) == "+OK\r\n");
  const auto look = [&] {
    bench.see();
    CHECK(bench.ask({"LOG", "ACK", "quick", std::to_string(bench.durable.value())}) == "+OK\r\n");
    bench.stream->look();
  };
  std::uint64_t before = 0;
  while (bench.stream->board().overloaded.empty()) {
    bench.write(5);
    look();
    CHECK(bench.stream->board().held_bytes >= before);
    before = bench.stream->board().held_bytes;
    REQUIRE(before <= 5 * kSegmentBytesMin);
  }
  CHECK(before == 5 * kSegmentBytesMin);
  CHECK(bench.stream->board().overloaded.starts_with("sink slow has acknowledged LSN 0 and keeps 327680 bytes"));
  SUBCASE("it is dropped") { CHECK(bench.ask({"LOG", "SINKS", "DROP", "slow", "CONFIRM"}) == "+OK\r\n"); }
  SUBCASE("it goes on") {
    CHECK(bench.ask({"LOG", "ACK", "slow", std::to_string(bench.durable.value() - 1)}) == "+OK\r\n");
  }
  CHECK(bench.stream->board().overloaded.empty());
  CHECK(bench.stream->board().held_bytes <= kSegmentBytesMin);
}

TEST_CASE("log stream: an acknowledgement that could not be kept is an error, and is tried again in time") {
  Bench bench;
  bench.write(1);
  CHECK(bench.ask({"LOG", "ACK", "pg", "1"}) == "+OK\r\n");
  bench.disk.plan({.kind = simulation::FaultKind::fail,
                   .call = simulation::IoCall::sync,
                   .path_part = "sinks",
                   .nth = 1,
                   .sticky = true});
  CHECK(bench.ask({"LOG", "ACK", "pg", "2"}).starts_with("-ERR the sinks could not be kept: "));
  CHECK(bench.stream->sinks_failure() != "");
  CHECK(bench.stream->sinks_hold() == Lsn(1));
  CHECK(bench.stream->due() == bench.now + Millis(1000));
  bench.disk.clear_faults();
  bench.now += Millis(1000);
  bench.see();
  CHECK(bench.stream->sinks_failure() == "");
  CHECK(bench.stream->due() == Millis::max());
  CHECK(bench.ask({"LOG", "ACK", "pg", "2"}) == "+OK\r\n");
}

TEST_CASE("log stream: LOG SNAPSHOT serves a snapshot's bytes without the secret, and holds it for a minute") {
  Bench bench;
  bench.write(1);
  const auto ask = [&](std::string lsn, std::string offset, std::string most) {
    return bench.ask({"LOG", "SNAPSHOT", std::move(lsn), std::move(offset), "MAXBYTES", std::move(most)});
  };
  CHECK(ask("0", "0", "10") == "-LOGGONE there is no snapshot yet\r\n");
  std::string content(5000, 'x');
  for (const char* name : {"snapshot-00000000000000000007", "snapshot-00000000000000000003",
                           "snapshot-00000000000000000009.tmp", "snapshot-5"}) {
    auto file = bench.disk.open(std::string("/data/log/") + name, OpenMode::create);
    REQUIRE(file.has_value());
    REQUIRE(said((*file)->write(0, std::as_bytes(std::span(content)))) == "");
  }
  std::string served = content;
  served.replace(184, 16, 16, '\0');
  std::string read;
  while (read.size() < content.size()) {
    const auto part = testing::ReplyValue::decode(ask("0", std::to_string(read.size()), "7"));
    CHECK(part.items.at(0).text == log_id_text(bench.driver.log->identity().id));
    CHECK(part.items.at(1).number == 7);
    CHECK(part.items.at(2).number == 5000);
    CHECK((part.items.at(3).text.size() == 7 || read.size() + 7 > content.size()));
    read += part.items.at(3).text;
  }
  CHECK(read == served);
  for (const std::size_t begin : {183U, 184U, 190U, 199U, 200U}) {
    for (const std::size_t size : {1U, 2U, 16U, 17U, 100U}) {
      const auto part = testing::ReplyValue::decode(ask("7", std::to_string(begin), std::to_string(size)));
      CHECK(part.items.at(3).text == served.substr(begin, size));
    }
  }
  CHECK(ask("0", "5000", "7").ends_with("$0\r\n\r\n"));
  CHECK(ask("0", "5001", "7").starts_with("-ERR offset 5001 is behind the end of snapshot 7"));
  CHECK(ask("5", "0", "7") == "-LOGGONE there is no snapshot 5: the newest is 7\r\n");
  CHECK(bench.stream->snapshot_hold() == Lsn(7));
  bench.now += Millis(30'000);
  CHECK(testing::ReplyValue::decode(ask("3", "0", "7")).items.at(1).number == 3);
  CHECK(bench.stream->snapshot_hold() == Lsn(3));
  CHECK(bench.stream->due() == bench.now + Millis(30'000));
  bench.now += Millis(59'999);
  bench.see();
  CHECK(bench.stream->snapshot_hold() == Lsn(3));
  bench.stream->look();
  CHECK(bench.stream->readers_hold() == Lsn(3));
  bench.now += Millis(1);
  bench.see();
  CHECK(bench.stream->snapshot_hold() == std::nullopt);
  CHECK(bench.stream->readers_hold() == bench.durable);
  CHECK(bench.stream->due() == Millis::max());
}

}  // namespace holdfast::test
