#include "storage/sink_registry.h"

#include "storage/log_files.h"
#include "storage/sinks_reader.h"
#include "storage/sinks_writer.h"
#include "tests/doctest.h"
#include "tests/unit/storage/log_fixture.h"

namespace holdfast::test {
namespace {

using simulation::FaultKind;
using simulation::IoCall;
using std::chrono::nanoseconds;
using std::chrono::seconds;

constexpr const char* kDirectory = "/data/log";
constexpr WallTime kWall = wall_time(1'800'000'000'000);

LogIdentity identity(std::uint8_t byte) {
  LogIdentity log;
  log.id.fill(byte);
  return log;
}

ParkedKey parked(std::string item, std::string id) { return {std::move(item), ItemVersion(1), std::move(id)}; }

/// A disk with a registry that is attached to log 1.
class Registered {
 public:
  Registered() { REQUIRE(said(disk.make_directory(kDirectory)) == ""); }

  SinkRegistry open() {
    auto opened = SinkRegistry::open(disk, kDirectory);
    REQUIRE(said(opened) == "");
    REQUIRE(said(opened->attach(identity(1), [](std::string_view) {})) == "");
    return std::move(*opened);
  }

  SimulatedDisk disk;
};

SinkAck ack(std::string sink, std::uint64_t lsn) { return {std::move(sink), Lsn(lsn), {}, {}}; }

std::string acknowledged(SinkRegistry& registry, const SinkAck& what, std::uint64_t durable = 100,
                         nanoseconds boot = nanoseconds(0)) {
  return said(registry.acknowledge(what, Lsn(durable), kWall, boot));
}

}  // namespace

TEST_CASE("sinks: what the writer makes the reader reads, and nothing else") {
  Sinks sinks;
  sinks.log_id.fill(7);
  Parked of_b;
  of_b[parked("i", "4")] = "no_room";
  of_b[parked(std::string(128, '\xff'), "00000000-0000-4000-8000-000000000001")] = "duplicate_live";
  sinks.sinks.push_back({"a", Lsn(5), Lsn(), kWall, std::make_shared<const Parked>()});
  sinks.sinks.push_back({"b", Lsn(UINT64_MAX), Lsn(9), wall_time(-1), std::make_shared<const Parked>(of_b)});
  const auto bytes = encode_sinks(sinks);
  const auto read = decode_sinks(bytes);
  REQUIRE(said(read) == "");
  REQUIRE(read->sinks.size() == 2);
  CHECK(read->log_id == sinks.log_id);
  CHECK(read->sinks[1].name == "b");
  CHECK(read->sinks[1].acked == Lsn(UINT64_MAX));
  CHECK(read->sinks[1].ahead == Lsn(9));
  CHECK(read->sinks[1].acked_at == wall_time(-1));
  CHECK(*read->sinks[1].parked == of_b);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    CHECK_FALSE(decode_sinks(std::span(bytes).first(size)).has_value());
  }
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    auto wrong = bytes;
    wrong[at] ^= std::byte{0x10};
    CHECK_FALSE(decode_sinks(wrong).has_value());
  }
}

TEST_CASE("sinks: an acknowledgement is there after a restart; it registers, moves, parks and unparks") {
  Registered at;
  SinkRegistry registry = at.open();
  CHECK(registry.floor() == Lsn());
  CHECK(acknowledged(registry, ack("pg", 0)) == "");
  SinkAck more = ack("pg", 50);
  more.park = {{parked("i", "3"), "no_room"}, {parked("i", "4"), "no_room"}};
  CHECK(acknowledged(registry, more) == "");
  CHECK(acknowledged(registry, ack("kafka", 70)) == "");
  SinkAck less = ack("pg", 60);
  less.unpark = {parked("i", "3"), parked("unknown", "9")};
  less.park = {{parked("i", "4"), "bad_id"}};
  CHECK(acknowledged(registry, less) == "");
  at.disk.kill_process();
  const SinkRegistry again = at.open();
  REQUIRE(again.sinks().size() == 2);
  CHECK(again.sinks()[0].name == "kafka");
  CHECK(again.sinks()[1].acked == Lsn(60));
  CHECK(*again.sinks()[1].parked == Parked{{parked("i", "4"), "bad_id"}});
  CHECK(again.floor() == Lsn(70));
}

TEST_CASE("sinks: none goes back, and the text names both") {
  Registered at;
  SinkRegistry registry = at.open();
  CHECK(acknowledged(registry, ack("pg", 50)) == "");
  CHECK(acknowledged(registry, ack("pg", 50)) == "");
  CHECK(acknowledged(registry, ack("pg", 49)) == "sink pg has acknowledged LSN 50 already, 49 is below it");
  CHECK(registry.sinks()[0].acked == Lsn(50));
}

TEST_CASE("sinks: one that is ahead of the log says so until it is dropped, also after a restart") {
  Registered at;
  {
    SinkRegistry registry = at.open();
    CHECK(acknowledged(registry, ack("pg", 40)) == "");
    CHECK(acknowledged(registry, ack("pg", 101))
              .starts_with("log: sink pg acknowledged LSN 101, the log is durable up to 100"));
  }
  SinkRegistry registry = at.open();
  CHECK(registry.sinks()[0].ahead == Lsn(101));
  CHECK(registry.floor() == Lsn(40));
  CHECK(acknowledged(registry, ack("pg", 200), 300).starts_with("log: sink pg acknowledged LSN 101"));
  CHECK(said(registry.drop("other", nanoseconds(0))) == "no sink 'other' is registered");
  CHECK(said(registry.drop("pg", nanoseconds(0))) == "");
  CHECK(at.open().sinks().empty());
  CHECK(acknowledged(registry, ack("pg", 200), 300) == "");
}

TEST_CASE("sinks: there are not more than there may be, nor more parked") {
  Registered at;
  SinkRegistry registry = at.open();
  for (std::size_t i = 0; i < kSinksMax; ++i) CHECK(acknowledged(registry, ack("s" + std::to_string(i), 1)) == "");
  CHECK(acknowledged(registry, ack("more", 1)).starts_with("16 sinks are registered already"));
  SinkAck many = ack("s0", 2);
  for (std::size_t i = 0; i < kParkedMax; ++i) many.park.push_back({parked("i", std::to_string(i)), "no_room"});
  CHECK(acknowledged(registry, many) == "");
  SinkAck one = ack("s1", 2);
  one.park = {{parked("j", "1"), "no_room"}};
  CHECK(acknowledged(registry, one).starts_with("more than 100000 would be parked"));
  CHECK(registry.sinks()[1].acked == Lsn(1));
  CHECK(at.open().sinks()[0].parked->size() == kParkedMax);
}

TEST_CASE("sinks: whatever call fails, nothing has changed, and for a while nothing is tried") {
  for (const IoCall call : {IoCall::create, IoCall::write, IoCall::sync, IoCall::rename}) {
    CAPTURE(io_call_name(call));
    Registered at;
    SinkRegistry registry = at.open();
    CHECK(acknowledged(registry, ack("pg", 10)) == "");
    at.disk.plan({.kind = FaultKind::fail, .call = call, .path_part = "sinks", .nth = 1, .sticky = true});
    CHECK(acknowledged(registry, ack("pg", 20)).starts_with("the sinks could not be kept: "));
    CHECK(registry.sinks()[0].acked == Lsn(10));
    CHECK(registry.failure() != "");
    CHECK(registry.retry_due() == seconds(1));
    at.disk.clear_faults();
    CHECK(acknowledged(registry, ack("pg", 20)).starts_with("the sinks could not be kept, in 1000 ms they may be: "));
    CHECK_FALSE(registry.retry(seconds(1) - nanoseconds(1)));
    CHECK(registry.retry(seconds(1)));
    CHECK(registry.failure() == "");
    CHECK(acknowledged(registry, ack("pg", 20), 100, seconds(1)) == "");
    CHECK(at.open().sinks()[0].acked == Lsn(20));
  }
}

TEST_CASE("sinks: the power may go in any call; then either state is there, whole") {
  for (std::uint64_t nth = 1;; ++nth) {
    Registered at;
    SinkRegistry registry = at.open();
    REQUIRE(acknowledged(registry, ack("pg", 10)) == "");
    at.disk.crash_at(nth);
    bool crashed = false;
    try {
      const std::string answer = acknowledged(registry, ack("pg", 20));
      CHECK(answer == "");
    } catch (const simulation::SimulatedCrash&) {
      crashed = true;
    }
    if (!crashed) break;
    at.disk.clear_faults();
    at.disk.crash(nth);
    const SinkRegistry again = at.open();
    REQUIRE(again.sinks().size() == 1);
    CHECK((again.sinks()[0].acked == Lsn(10) || again.sinks()[0].acked == Lsn(20)));
  }
}

TEST_CASE("sinks: those of the log that this one was forked from are let go, of another they are an error") {
  Registered at;
  SinkRegistry registry = at.open();
  CHECK(acknowledged(registry, ack("pg", 10)) == "");
  std::string told;
  const auto notice = [&](std::string_view line) { told = line; };
  auto other = SinkRegistry::open(at.disk, kDirectory);
  REQUIRE(said(other) == "");
  CHECK(said(other->attach(identity(2), notice)) == "/data/log/sinks: its sinks are those of another log");
  LogIdentity fork = identity(2);
  fork.forked_from_id = identity(1).id;
  CHECK(said(other->attach(fork, notice)) == "");
  CHECK(told == "the sinks of the log that this one was forked from are let go: pg");
  CHECK(other->sinks().empty());
}

TEST_CASE("sinks: a damaged file refuses the start and says what to do") {
  Registered at;
  SinkRegistry registry = at.open();
  CHECK(acknowledged(registry, ack("pg", 10)) == "");
  auto file = at.disk.open(sinks_path(kDirectory), OpenMode::write);
  REQUIRE(file.has_value());
  const std::array<std::byte, 1> wrong{std::byte{0x55}};
  REQUIRE(said((*file)->write(45, wrong)) == "");
  const auto opened = SinkRegistry::open(at.disk, kDirectory);
  REQUIRE(!opened.has_value());
  CHECK(opened.error().code() == ErrorCode::damaged);
  CHECK(opened.error().text().starts_with("/data/log/sinks: the sum at offset "));
}

TEST_CASE("sinks: what a sink has acknowledged is a floor: a log that ends before it is refused") {
  SimulatedDisk disk;
  VirtualClock clock;
  Lsn durable;
  LogId id{};
  {
    LogDriver driver(disk, clock, 1);
    REQUIRE(said(driver.open()) == "");
    REQUIRE(said(driver.write(5)) == "");
    durable = driver.log->durable_lsn();
    id = driver.log->identity().id;
    disk.kill_process();
  }
  LogDriver higher(disk, clock, 2);
  higher.settings.floor = durable.next();
  higher.settings.floor_log = id;
  CHECK(said(higher.recover()).starts_with("below_floor:"));
  disk.kill_process();
  LogDriver of_another(disk, clock, 3);
  of_another.settings.floor = durable.next();
  of_another.settings.floor_log.fill(9);
  CHECK(said(of_another.recover()) == "");
}

}  // namespace holdfast::test
