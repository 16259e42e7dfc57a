#include "storage/log_inspect.h"
#include "storage/log_files.h"
#include "tests/unit/storage/log_fixture.h"

#include "tests/doctest.h"

namespace holdfast::test {
namespace {

struct Output {
  std::vector<std::string> lines;
  LineSink sink = [this](std::string_view line) { lines.emplace_back(line); };
};

struct TwoLives {
  SimulatedDisk disk;
  VirtualClock clock;
  SeededRandom random{1};
  Lines lines;
  LogSecret secret{};

  TwoLives() {
    for (std::uint64_t life = 1; life <= 2; ++life) {
      LogDriver driver(disk, clock, life);
      driver.tells_true_state = true;
      REQUIRE(said(driver.open()) == "");
      for (int batch = 0; batch < 5; ++batch) REQUIRE(said(driver.write(4)) == "");
      REQUIRE(said(driver.tick()) == "");
      lines = driver.lines;
      secret = driver.log->identity().secret;
      disk.kill_process();
    }
  }
};

DumpOptions options(bool json, bool frames) {
  DumpOptions dump;
  dump.directory = "/data/log";
  dump.json = json;
  dump.frames = frames;
  return dump;
}

}  // namespace

TEST_CASE("log dump: every record is one line, in text and in JSON, and the secret is nowhere") {
  TwoLives log;
  for (const bool json : {false, true}) {
    Output out;
    REQUIRE(said(dump_log(log.disk, options(json, false), out.sink)) == "");
    CHECK(out.lines.size() == log.lines.size());
    Output frames;
    REQUIRE(said(dump_log(log.disk, options(json, true), frames.sink)) == "");
    CHECK(frames.lines.size() > out.lines.size() + 2 + 10);
    std::string secret;
    for (const auto byte : log.secret) secret += "0123456789abcdef"[byte >> 4], secret += "0123456789abcdef"[byte & 15];
    for (const auto& line : frames.lines) CHECK(line.find(secret) == std::string::npos);
    CHECK(out.lines[0].find(json ? "{\"lsn\":2," : "lsn=2 event=") == 0);
  }
}

TEST_CASE("log dump: a range of LSNs is what was asked for, and damage ends the listing with its place") {
  TwoLives log;
  auto dump = options(false, false);
  dump.from = Lsn(10);
  dump.through = Lsn(20);
  Output out;
  REQUIRE(said(dump_log(log.disk, dump, out.sink)) == "");
  CHECK(out.lines.size() ==
        static_cast<std::size_t>(std::distance(log.lines.lower_bound(Lsn(10)), log.lines.upper_bound(Lsn(20)))));
  log.disk.file(segment_path("/data/log", 2)).flip_bit(2 * kBlockBytes + 140, 1);
  CHECK(said(dump_log(log.disk, options(false, false), out.sink))
            .find("segment-0000000002 at offset 8192: broken_body") != std::string::npos);
}

TEST_CASE("log verify: a sound log is usable, and nothing was changed") {
  TwoLives log;
  const auto verdict = verify_log(log.disk, log.clock, log.random, "/data/log");
  REQUIRE(said(verdict) == "");
  CHECK(verdict->usable);
  CHECK(verdict->kept == log.lines.rbegin()->first);
  CHECK(verdict->lost() == 0);
  Output out;
  print_verdict(*verdict, false, out.sink);
  CHECK(out.lines[0].starts_with("usable: 3 segments, LSN 1 to "));
}

TEST_CASE("log verify: a damaged log is refused, and the loss of a repair is counted") {
  TwoLives log;
  log.disk.file(segment_path("/data/log", 1)).flip_bit(2 * kBlockBytes + 140, 1);
  const auto verdict = verify_log(log.disk, log.clock, log.random, "/data/log");
  REQUIRE(said(verdict) == "");
  CHECK_FALSE(verdict->usable);
  CHECK(verdict->refusal.starts_with("mid_log: /data/log/segment-0000000001 at offset 8192"));
  CHECK(verdict->known == log.lines.rbegin()->first);
  CHECK(verdict->kept < Lsn(20));
  CHECK(verdict->lost() == verdict->known.value() - verdict->kept.value());
  Output out;
  print_verdict(*verdict, true, out.sink);
  CHECK(out.lines[0].find("\"usable\":false") != std::string::npos);
  print_verdict(*verdict, false, out.sink);
  CHECK(out.lines[2].starts_with("a repair would keep LSN 1 to "));
}

TEST_CASE("log verify: a batch whose records make another state than it says is found") {
  SimulatedDisk disk;
  VirtualClock clock;
  SeededRandom random(1);
  LogDriver driver(disk, clock, 1);
  driver.tells_true_state = true;
  REQUIRE(said(driver.open()) == "");
  for (int batch = 0; batch < 3; ++batch) REQUIRE(said(driver.write(4)) == "");
  driver.tells_true_state = false;
  REQUIRE(said(driver.write(4)) == "");
  const Lsn wrong = driver.log->written_lsn();
  disk.kill_process();
  const auto verdict = verify_log(disk, clock, random, "/data/log");
  REQUIRE(said(verdict) == "");
  CHECK_FALSE(verdict->usable);
  CHECK(verdict->state_differs == wrong);
  CHECK(verdict->refusal.find("make another state") != std::string::npos);
  CHECK(verdict->kept == wrong);
  CHECK(verdict->lost() == 0);
}

TEST_CASE("log verify: no log and a running server are errors") {
  SimulatedDisk disk;
  VirtualClock clock;
  SeededRandom random(1);
  CHECK(verify_log(disk, clock, random, "/data/log").error().code() == ErrorCode::not_found);
  LogDriver driver(disk, clock, 1);
  REQUIRE(said(driver.open()) == "");
  CHECK(verify_log(disk, clock, random, "/data/log").error().code() == ErrorCode::locked);
}

}  // namespace holdfast::test
