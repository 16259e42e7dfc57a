#include "tests/unit/server/log_stream_bench.h"

#include "storage/log_files.h"
#include "storage/segment_reader.h"

#include <fmt/format.h>

namespace holdfast::test {

TEST_CASE("log stream: XRANGE shows every record but the clocks, once and in order; XLEN counts them") {
  for (const std::size_t kept : {std::size_t{0}, std::size_t{1_MiB}}) {
    LogStreamBench bench(kept);
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
  LogStreamBench bench(1_MiB, FsyncPolicy::everysec);
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
    LogStreamBench bench(kept);
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
  LogStreamBench bench(0);
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
  LogStreamBench bench;
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

TEST_CASE("log stream: $ is what was durable when it was asked, not when it was looked at") {
  LogStreamBench bench;
  bench.write(1);
  bench.see();
  const std::string next = std::to_string(bench.durable.value() + 1);
  bench.send({"XREAD", "BLOCK", "0", "STREAMS", "log", "$"});
  bench.write(1);
  bench.see();
  const std::string told = bench.run();
  const std::vector<Lsn> since = bench.ids(bench.value({"XRANGE", "log", next, "+"}));
  REQUIRE(!since.empty());  // the clocks may come first, and are not shown
  CHECK(told.find(fmt::format("\r\n{}-0\r\n", since.front().value())) != std::string::npos);
  CHECK(bench.stream->waiting() == 0);
}

TEST_CASE("log stream: who waits for something far ahead is left alone until then") {
  LogStreamBench bench;
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
  LogStreamBench bench;
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
  LogStreamBench bench;
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
  LogStreamBench bench(64_MiB);
  bench.write(900, 60);
  bench.see();
  const std::string entries = bench.ask({"XRANGE", "log", "-", "+"});
  CHECK(entries.size() >= kEntryBytesMax);
  CHECK(entries.size() < kEntryBytesMax + 4_KiB);
  const std::string batches = bench.ask({"LOG", "READ", "1", "MAXBYTES", "99999999"});
  CHECK(batches.size() > kReplyBytesMax / 2);
  CHECK(batches.size() <= kReplyBytesMax);
}

}  // namespace holdfast::test
