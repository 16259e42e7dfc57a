#include "server/telemetry.h"

#include "server/info_telemetry.h"
#include "server/options.h"

#include "tests/doctest.h"

#include <algorithm>

using namespace holdfast;
using namespace std::chrono_literals;

namespace {

const CommandEntry& command(std::string_view name) {
  return **find_command(std::vector<std::string_view>{name, "i", "u"});
}

struct Bench {
  Options options;
  SharedTelemetry shared;
  Telemetry telemetry{options, shared};
  std::vector<StepCommand> batch;

  void add(std::string_view name, std::size_t times) {
    static const std::vector<std::string_view> kWords = {"RESERVE", "i", "u"};
    for (std::size_t i = 0; i < times; ++i) batch.push_back({&command(name), {}, RespVersion::resp2, kWords});
  }
  /// A turn that began at 0, whose reads took 10 us and whose batch then took so long.
  bool turn(Telemetry::Nanos batch_took) {
    telemetry.begin_turn(0ns);
    telemetry.stats.requests.add(batch.size());
    telemetry.end_reads({10us, 1'700'000'000s});
    const bool slow = telemetry.note_batch(batch, 10us + batch_took);
    if (slow) telemetry.add_slow(telemetry.slow_batch(batch), {"127.0.0.1:1", "me"});
    return slow;
  }
};

}  // namespace

TEST_CASE("telemetry: a batch's time is shared evenly among its commands") {
  Bench bench;
  bench.add("RESERVE", 30);
  bench.add("CONFIRM", 10);
  bench.turn(80us);
  const CommandTotals reserve = bench.shared.totals(CommandId::reserve);
  CHECK(reserve.calls == 30);
  CHECK(reserve.duration_ns == 60'000);
  CHECK(reserve.duration.count() == 30);
  CHECK(bench.shared.totals(CommandId::confirm).duration_ns == 20'000);
  std::string text;
  write_commandstats(text, bench.shared);
  CHECK(text ==
        "cmdstat_reserve:calls=30,usec=60,usec_per_call=2.00,rejected_calls=0,failed_calls=0\r\n"
        "cmdstat_confirm:calls=10,usec=20,usec_per_call=2.00,rejected_calls=0,failed_calls=0\r\n");
  text.clear();
  write_latencystats(text, bench.shared);
  CHECK(text.starts_with("latency_percentiles_usec_reserve:p50=2.048,p99=2.048,p99.9=2.048\r\n"));
}

TEST_CASE("telemetry: a command of the connection has its share of the reads") {
  Bench bench;
  bench.telemetry.begin_turn(0ns);
  bench.telemetry.stats.requests.add(4);
  const std::vector<std::string_view> words = {"PING"};
  bench.telemetry.note_session(**find_command(words), words, false, {"127.0.0.1:1", ""});
  CHECK(bench.shared.totals(CommandId::ping).calls == 1);
  bench.telemetry.end_reads({8us, 0s});
  CHECK(bench.shared.totals(CommandId::ping).duration_ns == 2000);
  bench.telemetry.end_turn(20us, 0);
  const auto session = static_cast<std::size_t>(LatencyClass::session);
  CHECK(bench.telemetry.stats.latency[session].view().sum == 20'000);
}

TEST_CASE("telemetry: a slow batch leaves one entry in the slow log, with the time of the batch") {
  Bench bench;
  bench.add("RESERVE", 3);
  CHECK_FALSE(bench.turn(9'999us));
  CHECK(bench.turn(10'000us));
  REQUIRE(bench.shared.slow_count() == 1);
  const SlowLog::Entry entry = bench.shared.slow_entries(1).front();
  CHECK(entry.duration_us == 10'000);
  CHECK(entry.unix_seconds == 1'700'000'000);
  CHECK(entry.words.back() == "... (time of a batch with 2 more commands)");
  CHECK(entry.address == "127.0.0.1:1");
  CHECK(find_option("slowlog-log-slower-than")
            ->set(bench.options, *find_option("slowlog-log-slower-than"), "-1")
            .has_value());
  CHECK_FALSE(bench.turn(10s));
}

TEST_CASE("telemetry: replies are timed from the poll that brought their commands") {
  Bench bench;
  bench.add("RESERVE", 1);
  bench.turn(1us);
  const std::vector<ArrivalTally> arrivals = {{0ns, {2, 0, 1}}, {5us, {1, 0, 0}}};
  bench.telemetry.note_replies(arrivals);
  CHECK(bench.telemetry.worked());
  bench.telemetry.end_turn(100us, 0);
  const HistogramView reserve = bench.telemetry.stats.latency[0].view();
  CHECK(reserve.count() == 3);
  CHECK(reserve.sum == 2 * 100'000 + 95'000);
  CHECK(bench.telemetry.stats.latency[2].view().count() == 1);
  bench.telemetry.end_turn(200us, 0);
  CHECK(bench.telemetry.stats.latency[0].view().count() == 3);
  bench.telemetry.begin_turn(300us);
  bench.telemetry.end_reads({300us, {}});
  CHECK_FALSE(bench.telemetry.worked());
  bench.telemetry.note_replies(arrivals);
  CHECK(bench.telemetry.worked());  // a turn that brings replies alone: there may be no other for long
}

TEST_CASE("telemetry: events are kept from the threshold on, of a second the longest") {
  Bench bench;
  bench.add("RESERVE", 1);
  bench.turn(50ms);
  bench.telemetry.end_turn(60ms, 70'000'000);
  CHECK(bench.shared.latency(LatencyEvent::turn).samples.empty());
  bench.options.latency_monitor_threshold = 50;
  bench.turn(40ms);
  bench.telemetry.end_turn(60ms, 70'000'000);
  bench.turn(45ms);
  bench.telemetry.end_turn(55ms, 0);
  CHECK(bench.shared.latency(LatencyEvent::command).samples.empty());
  const LatencyMonitor::Series turn = bench.shared.latency(LatencyEvent::turn);
  REQUIRE(turn.samples.size() == 1);
  CHECK(turn.samples[0].ms == 60);
  CHECK(bench.shared.latency(LatencyEvent::flush).max_ms == 70);
  for (std::int64_t second = 1; second < 200; ++second) bench.shared.add_latency(LatencyEvent::turn, {second, 1});
  const LatencyMonitor::Series later = bench.shared.latency(LatencyEvent::turn);
  CHECK(later.samples.size() == kLatencySamplesMax);
  CHECK(later.max_ms == 60);
  CHECK(bench.shared.reset_latency(LatencyEvent::turn));
  CHECK_FALSE(bench.shared.reset_latency(LatencyEvent::turn));
}

TEST_CASE("telemetry: a reset is for INFO, the counters themselves go on") {
  Bench bench;
  bench.add("RESERVE", 4);
  bench.turn(4us);
  bench.telemetry.stats.count_error("-NOITEM there is none\r\n");
  bench.telemetry.stats.count_error("-NEVERSEEN x\r\n");
  CHECK(bench.shared.totals().error_replies == 2);
  using Totals = std::vector<std::pair<std::string_view, std::uint64_t>>;
  CHECK(bench.shared.error_totals() == Totals{{"NOITEM", 1}, {"OTHER", 1}});
  bench.shared.reset();
  CHECK(bench.shared.totals().requests == 0);
  CHECK(bench.shared.totals().error_replies == 0);
  CHECK(bench.shared.error_totals().empty());
  CHECK(bench.shared.totals(CommandId::reserve).duration.count() == 0);
  bench.turn(4us);
  CHECK(bench.shared.totals(CommandId::reserve).calls == 4);
  CHECK(bench.telemetry.stats.commands[static_cast<std::size_t>(CommandId::reserve)].calls.value() == 8);
  CHECK(bench.telemetry.stats.errors[static_cast<std::size_t>(ErrorCode::no_item)].value() == 1);
  CHECK(bench.telemetry.stats.errors[kErrorCodes].value() == 1);
}

TEST_CASE("telemetry: codes that share their word on the wire are one") {
  Bench bench;
  bench.telemetry.stats.count_error("-ERR x\r\n");
  bench.telemetry.stats.count_error("-UNBLOCKED x\r\n");
  std::vector<std::string_view> words;
  for (std::size_t i = 0; i <= kErrorCodes; ++i) {
    if (!error_word(i).empty()) words.push_back(error_word(i));
  }
  CHECK(std::count(words.begin(), words.end(), "ERR") == 1);
  CHECK(std::count(words.begin(), words.end(), "UNBLOCKED") == 1);
  CHECK(words.back() == "OTHER");
  CHECK(bench.shared.error_totals().size() == 2);
}

TEST_CASE("telemetry: messages are no commands, and of EXEC the slow log keeps no words of what was queued") {
  Bench bench;
  const std::vector<std::string_view> packed = {"EXEC", "i", "RESERVE", "i", "u", "TOKEN", "secret"};
  const auto entry = [](CommandId id) { return &command_table()[static_cast<std::size_t>(id)]; };
  bench.batch.push_back({nullptr, {}, RespVersion::resp2, {}});
  bench.batch.push_back({entry(CommandId::subscribe), {}, RespVersion::resp2, packed});
  CHECK_FALSE(bench.turn(1s));
  bench.batch.push_back({entry(CommandId::exec), {}, RespVersion::resp2, packed});
  CHECK(bench.turn(1s));
  CHECK(bench.shared.totals(CommandId::subscribe).calls == 0);
  CHECK(bench.shared.totals(CommandId::exec).calls == 1);
  REQUIRE(bench.shared.slow_count() == 1);
  CHECK(bench.shared.slow_entries(1).front().words == std::vector<std::string>{"EXEC"});
}
