// A log on the simulated disk with LogStream beside it, driven by hand. One thread.
#pragma once

#include "server/log_stream.h"
#include "storage/log_feed.h"
#include "tests/doctest.h"
#include "tests/unit/server/reply_value.h"
#include "tests/unit/storage/log_fixture.h"

namespace holdfast::test {

inline constexpr ConnectionKey kOne{1, 1}, kOther{2, 1};

/// A log with a reader beside it.
class LogStreamBench final : public LogFeed {
 public:
  explicit LogStreamBench(std::size_t kept = 1_MiB, FsyncPolicy fsync = FsyncPolicy::always,
                          std::uint64_t log_bytes_max = 1_GiB)
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
    return {durable, now, wall_time(1'800'000'000'000 + now.count()), driver.log->status().segment_used_bytes.load(),
            covered};
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
    request.newest = durable;
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
  std::optional<LogStream::Covered> covered;  // by snapshots
  LogDriver driver;
  std::optional<LogStream> stream;
};

}  // namespace holdfast::test
