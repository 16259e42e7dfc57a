#include "replication/file_sink.h"

#include "replication/batch_decoder.h"
#include "tests/simulation/simulated_disk.h"
#include "tests/unit/replication/log_maker.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/doctest.h"

using namespace holdfast;
using namespace holdfast::test;

namespace {

struct Folder {
  Folder() {
    std::string name = "file-sink-XXXXXX";
    REQUIRE(mkdtemp(name.data()) != nullptr);
    path = std::filesystem::absolute(name);
  }
  ~Folder() { std::filesystem::remove_all(path); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string file(const std::string& name = "orders.jsonl") const { return path / name; }
  std::filesystem::path path;
};

std::string content(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

void append(const std::string& path, const std::string& text) { std::ofstream(path, std::ios::app) << text; }

std::size_t line_count(const std::string& path) {
  const std::string text = content(path);
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

/// What a relay does: opens the sink and gives it the rest of the log, as much of it as `batches_max` allows.
SinkState carry_on(EventSink& sink, const LogId& log, const std::string& whole_log, std::size_t batches_max = 1000) {
  auto state = sink.open();
  REQUIRE(state.has_value());
  BatchDecoder decoder({log, state->cursor.lsn, state->cursor.epoch}, state->items);
  // A reader's batch is the one that holds the next LSN: here the log is one batch.
  decoder.feed(whole_log);
  for (std::size_t i = 0; i < batches_max && !decoder.done(); ++i) {
    const auto batch = decoder.next(3);
    REQUIRE(batch.has_value());
    REQUIRE(sink.apply(log, *batch).has_value());
  }
  return *state;
}

/// A log of 2 + 30 events in one batch.
std::string some_log(LogMaker& log) {
  auto& item = log.create("item:1", 100);
  for (std::uint64_t id = 1; id <= 30; ++id) log.reserve(item, id, std::to_string(id));
  return log.batch();
}

}  // namespace

TEST_CASE("file_sink: each event is one line, and another start goes on where the last one was") {
  const Folder folder;
  LogMaker log;
  const std::string whole = some_log(log);
  for (std::uint64_t start = 1; start <= 4; ++start) {
    const auto sink = make_file_sink(folder.file());
    const auto state = carry_on(*sink, log.log, whole, 2);
    CHECK(state.cursor.epoch == Epoch(start));
    CHECK(state.cursor.log == (start == 1 ? LogId{} : log.log));
    CHECK(state.items.size() == (start == 1 ? 0 : 1));
    CHECK(line_count(folder.file()) == start * 6);
  }
  const auto sink = make_file_sink(folder.file());
  carry_on(*sink, log.log, whole);
  std::ifstream file(folder.file());
  std::string line;
  for (std::size_t sequence = 1; std::getline(file, line); ++sequence) {
    CHECK(line.find("\"sequence\":" + std::to_string(sequence) + ",") != std::string::npos);
  }
  CHECK(line_count(folder.file()) == 32);
}

TEST_CASE("file_sink: what a crash left behind the cursor is cut off, and comes again") {
  const Folder folder;
  LogMaker log;
  const std::string whole = some_log(log);
  { carry_on(*make_file_sink(folder.file("whole")), log.log, whole); }
  { carry_on(*make_file_sink(folder.file()), log.log, whole, 5); }
  const std::string items_before = content(folder.file() + ".items");
  append(folder.file(), "{\"lsn\":18,\"event\":\"RESERVE\"}\n{\"half a li");
  append(folder.file() + ".items", "{\"half an it");
  append(folder.file() + ".cursor.tmp", "{\"log\":");
  { carry_on(*make_file_sink(folder.file()), log.log, whole); }
  CHECK(content(folder.file()) == content(folder.file("whole")));
  CHECK(content(folder.file() + ".items") == items_before);
}

TEST_CASE("file_sink: lines that the cursor knows of and that are gone are never ignored") {
  const Folder folder;
  LogMaker log;
  const std::string whole = some_log(log);
  { carry_on(*make_file_sink(folder.file()), log.log, whole); }
  std::filesystem::resize_file(folder.file(), 100);
  const auto opened = make_file_sink(folder.file())->open();
  REQUIRE(!opened);
  CHECK(opened.error().code() == ErrorCode::damaged);
  CHECK(opened.error().text().find("holds 100 bytes") != std::string_view::npos);
  append(folder.file() + ".cursor", "}");
  CHECK(make_file_sink(folder.file())->open().error().code() == ErrorCode::damaged);
}

TEST_CASE("file_sink: a file that has no cursor beside it is left as it is") {
  const Folder folder;
  append(folder.file(), "somebody's\n");
  const auto opened = make_file_sink(folder.file())->open();
  REQUIRE(!opened);
  CHECK(opened.error().code() == ErrorCode::damaged);
  CHECK(opened.error().text().find("holds 11 bytes and there is no " + folder.file() + ".cursor") !=
        std::string_view::npos);
  CHECK(content(folder.file()) == "somebody's\n");
  LogMaker log;
  const std::string whole = some_log(log);
  { carry_on(*make_file_sink(folder.file("other")), log.log, whole); }
  std::filesystem::remove(folder.file("other") + ".cursor");
  CHECK(!make_file_sink(folder.file("other"))->open());
  CHECK(line_count(folder.file("other")) == 32);
}

TEST_CASE("file_sink: two relays cannot write to one file") {
  const Folder folder;
  const auto first = make_file_sink(folder.file());
  REQUIRE(first->open().has_value());
  const auto second = make_file_sink(folder.file());
  const auto opened = second->open();
  REQUIRE(!opened);
  CHECK(opened.error().code() == ErrorCode::superseded);
  // The first may take it over again, as after an error.
  CHECK(first->open().has_value());
}

TEST_CASE("file_sink: a place that cannot be written is an error that may pass") {
  const auto sink = make_file_sink("no-such-folder/orders.jsonl");
  const auto opened = sink->open();
  REQUIRE(!opened);
  CHECK(opened.error().code() == ErrorCode::io_failed);
}

TEST_CASE("file_sink: begins with a snapshot, when it has nothing or may set it aside") {
  const Folder folder;
  simulation::SimulatedDisk disk;
  LogMaker log;
  auto& item = log.create("item:1", 100);
  log.reserve(item, 1, "1");
  const std::string before = log.batch();
  auto snapshot = log.snapshot(disk);
  StartState state(snapshot);
  const auto sink = make_file_sink(folder.file());
  auto report = sink->bootstrap(state, false);
  REQUIRE(report.has_value());
  CHECK(report->items == 1);
  CHECK(report->cursor == Cursor{log.log, Lsn(4), Epoch(1)});
  log.reserve(item, 2, "2");
  carry_on(*sink, log.log, log.batch());
  CHECK(line_count(folder.file()) == 1);
  CHECK(content(folder.file()).find("\"sequence\":4,") != std::string::npos);

  const std::string lines = content(folder.file());
  report = sink->bootstrap(state, false);
  REQUIRE(!report);
  CHECK(report.error().text().find("--set-aside") != std::string::npos);
  CHECK(content(folder.file()) == lines);
  report = sink->bootstrap(state, true);
  REQUIRE(report.has_value());
  CHECK(content(folder.file()).empty());
  CHECK(content(report->set_aside) == lines);
  CHECK(report->set_aside == folder.file("orders.jsonl.before-4"));
  CHECK(sink->open()->items.size() == 1);
}

TEST_CASE("file_sink: goes on with a log that went on from its own") {
  const Folder folder;
  LogMaker log;
  const std::string whole = some_log(log);
  const auto sink = make_file_sink(folder.file());
  carry_on(*sink, log.log, whole);
  LogRange fork{LogId{9}, Lsn(1), Lsn(50)};
  fork.forked_from = log.log;
  fork.forked_at = Lsn(30);
  CHECK(!sink->adopt(fork));
  fork.forked_at = Lsn(33);
  const auto adopted = sink->adopt(fork);
  REQUIRE(adopted.has_value());
  CHECK(sink->open()->cursor == Cursor{LogId{9}, Lsn(33), adopted->epoch.next()});
}
