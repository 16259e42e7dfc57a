#include "tests/unit/server/log_stream_bench.h"

namespace holdfast::test {

TEST_CASE("log stream: LOG ACK registers and moves sinks, LOG SINKS shows them") {
  LogStreamBench bench;
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
  LogStreamBench bench;
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
  LogStreamBench bench;
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
  LogStreamBench bench(0, FsyncPolicy::always, 5 * kSegmentBytesMin);
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

TEST_CASE("log stream: snapshots that are not made in time stop sales as well, until they are") {
  LogStreamBench bench(0, FsyncPolicy::always, 5 * kSegmentBytesMin);
  bench.covered = LogStream::Covered();
  const auto look = [&] {
    bench.see();
    bench.stream->look();
  };
  for (int i = 0; i < 1000 && bench.stream->board().overloaded.empty(); ++i) {
    bench.write(5);
    look();
    REQUIRE(bench.stream->board().held_bytes <= 5 * kSegmentBytesMin);
  }
  CHECK(
      bench.stream->board().overloaded.starts_with("the older of two snapshots has LSN 0 and keeps 327680 bytes of the "
                                                   "log, log-max-bytes is 327680; another has to be"));
  SUBCASE("two are made") {
    const Lsn snapshot(bench.durable.value() - 1);
    bench.covered = LogStream::Covered{snapshot, snapshot};
    look();
    CHECK(bench.stream->board().holder.starts_with("the older of two snapshots"));
  }
  SUBCASE("one is, and no other can be before something is written") {
    bench.covered->newest = bench.durable;
    look();
    CHECK(bench.stream->board().held_bytes == 0);
    bench.write(1);
    look();
    CHECK_FALSE(bench.stream->board().overloaded.empty());
    bench.covered = LogStream::Covered{bench.covered->newest, bench.durable};
    look();
  }
  CHECK(bench.stream->board().overloaded.empty());
  CHECK(bench.ask({"LOG", "ACK", "slow", "0"}) == "+OK\r\n");
  CHECK(bench.stream->board().overloaded.starts_with("sink slow has acknowledged LSN 0 and keeps 327680 bytes"));
}

TEST_CASE("log stream: an acknowledgement that could not be kept is an error, and is tried again in time") {
  LogStreamBench bench;
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
  LogStreamBench bench;
  bench.write(1);
  const auto ask = [&](std::string lsn, std::string offset, std::string most) {
    return bench.ask({"LOG", "SNAPSHOT", std::move(lsn), std::move(offset), "MAXBYTES", std::move(most)});
  };
  CHECK(ask("0", "0", "10") == "-LOGGONE there is no snapshot yet: BGSAVE, or holdfastctl snapshot, makes one\r\n");
  std::string content(5000, 'x');
  for (const char* name :
       {"snapshot-00000000000000000007", "snapshot-00000000000000000003", "snapshot-00000000000000000009.tmp"}) {
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
