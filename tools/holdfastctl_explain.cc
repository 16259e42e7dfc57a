#include "tools/holdfastctl_explain.h"

#include "protocol/names.h"
#include "storage/log_walk.h"
#include "storage/posix_file_system.h"
#include "storage/record_lines.h"
#include "storage/record_reader.h"
#include "tools/log_client.h"
#include "tools/unit_story.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <boost/json/array.hpp>

#include <cstdio>

namespace holdfast {
namespace {

namespace json = boost::json;

constexpr std::chrono::seconds kTimeout{60};
constexpr const char* kExamples =
    R"(Reads the log from where it begins, and tells each record of the reservation in order: when, what, and what it means.
Times are the server's wall clock, in UTC. Asks a server, which needs the role relay; or reads a data directory's files,
also beside its server, whose newest records it may not see yet.

examples:
  holdfastctl explain item:1001 6f2c1e0a-7b54-4c39-9d0e-3a1f5b8c2d47
  holdfastctl explain item:1001 6f2c1e0a-7b54-4c39-9d0e-3a1f5b8c2d47 --data-dir /var/lib/holdfast
  holdfastctl explain item:1001 6f2c1e0a-7b54-4c39-9d0e-3a1f5b8c2d47 --data-dir /var/lib/holdfast --json

exit status: 0 told; 1 the log does not know this id; 2 the log could not be read)";

/// How much of the log was read.
struct Reach {
  Lsn first;
  Lsn last;
  std::string unsound;  // why no further; empty: to its end
};

Result<Reach> read_directory(const std::string& directory, UnitStory& story) {
  PosixFileSystem files;
  auto walk = LogWalk::open(files, directory);
  if (!walk) return walk.error();
  Reach reach;
  reach.first = walk->first_lsn();
  ProgressLine progress;
  for (auto step = walk->next(); step != LogWalk::Step::end; step = walk->next()) {
    if (step == LogWalk::Step::segment) continue;
    const BatchHeader& header = walk->batch().header;
    const auto read = read_records({walk->batch().body, header.first_lsn, header.count, Lsn()}, story);
    if (!read) {
      reach.unsound = fmt::format("{} at offset {}: {}", walk->path(), walk->batch().offset, read.error().text());
      return reach;
    }
    reach.last = header.last_lsn();
    progress.show(fmt::format("LSN {}", reach.last.value()));
  }
  if (walk->unsound()) reach.unsound = walk->unsound()->text();
  return reach;
}

Result<Reach> read_server(RespClient& client, UnitStory& story) {
  LogClient log(client);
  HOLDFAST_TRY(log.look());
  Reach reach;
  reach.first = log.oldest();
  ProgressLine progress;
  HOLDFAST_TRY(log.read(log.oldest(), [&](const BatchHeader& header, std::span<const std::byte> body) -> Result<bool> {
    const auto read = read_records({body, header.first_lsn, header.count, Lsn()}, story);
    if (!read) return read.error();
    reach.last = header.last_lsn();
    progress.show(fmt::format("LSN {} of {}", reach.last.value(), log.durable().value()));
    return true;
  }));
  return reach;
}

void print_event(const json::object& event) {
  std::string line = fmt::format("{}  LSN {}", std::string_view(event.at("time").as_string()),
                                 event.at("lsn").to_number<std::uint64_t>());
  if (event.contains("sequence")) line += fmt::format("  sequence {}", event.at("sequence").to_number<std::uint64_t>());
  line += event.contains("version") ? fmt::format("  version {}", event.at("version").to_number<std::uint64_t>())
                                    : fmt::format("  item number {}, whose name the log does not say any more",
                                                  event.at("number").to_number<std::uint64_t>());
  line += fmt::format("  {}: {}", std::string_view(event.at("event").as_string()),
                      std::string_view(event.at("what").as_string()));
  if (event.contains("available")) {
    const auto count = [&](const char* key) { return event.at(key).to_number<std::int64_t>(); };
    line += fmt::format(" (then {} available, {} reserved, {} confirmed, {} held)", count("available"),
                        count("reserved"), count("confirmed"), count("held"));
  }
  fmt::print("{}\n", line);
}

/// What is told of one id, printed; the exit status.
int print_story(const UnitStory& story, const std::string& item, const std::string& id, const Reach& reach,
                bool as_json) {
  const auto events = story.events();
  if (as_json) {
    json::array list(events.begin(), events.end());
    json::object all{{"item", percent_escaped(item)}, {"id", id}, {"found", !events.empty()}};
    all["first-lsn"] = reach.first.value();
    all["last-lsn"] = reach.last.value();
    if (!reach.unsound.empty()) all["unsound"] = reach.unsound;
    all["events"] = std::move(list);
    fmt::print("{}\n", render(all, true));
    return events.empty() ? kNotOk : kDone;
  }
  for (const auto& event : events) print_event(event);
  std::fflush(stdout);
  if (!reach.unsound.empty()) {
    fmt::print(stderr, "holdfastctl: read up to LSN {} only: {}\n", reach.last.value(), reach.unsound);
  }
  if (events.empty()) {
    fmt::print(
        stderr,
        "holdfastctl: nothing is told of reservation {} of item {}; the log is kept from LSN {} on, and was read "
        "up to {}\n",
        id, percent_escaped(item), reach.first.value(), reach.last.value());
    return kNotOk;
  }
  if (reach.first > Lsn(1))
    fmt::print("The log is kept from LSN {} on; what was before is not told.\n", reach.first.value());
  return kDone;
}

}  // namespace

int explain_command(CommandWords words, ServerArguments arguments) {
  std::string item, id, directory;
  CLI::App app("Tells one reservation's life from the log.", "holdfastctl explain");
  app.add_option("item", item, "The item")->type_name("ITEM")->required();
  app.add_option("id", id, "The reservation's id")->type_name("ID")->required();
  app.add_option("--data-dir", directory, "Read this data directory's files instead of asking a server")
      ->type_name("DIR");
  add_server_options(app, arguments);
  app.footer(kExamples);
  if (const auto status = read_words(app, words)) return *status;
  const auto name = ItemName::parse(item);
  if (!name) return fail(name.error());
  const auto parsed = ReservationId::parse(id);
  if (!parsed) return fail(parsed.error());
  UnitStory story(std::string(name->bytes()), *parsed);
  std::unique_ptr<RespClient> client;
  if (directory.empty()) {
    auto connected = connect(arguments, kTimeout);
    if (!connected) return fail(connected.error());
    client = std::move(*connected);
  }
  const auto reach = client == nullptr ? read_directory(directory, story) : read_server(*client, story);
  if (!reach) return fail(reach.error());
  const auto text = parsed->text();
  return print_story(story, std::string(name->bytes()), std::string(text.data(), text.size()), *reach, arguments.json);
}

}  // namespace holdfast
