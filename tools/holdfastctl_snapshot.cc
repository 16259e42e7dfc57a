#include "tools/holdfastctl_snapshot.h"

#include "protocol/types.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <charconv>
#include <map>
#include <thread>

namespace holdfast {
namespace {

constexpr std::chrono::seconds kTimeout{30};
constexpr Millis kAskEvery{100};
constexpr const char* kExamples =
    R"(The server goes on meanwhile: another process reads the last snapshot and the log behind it. Of snapshots the newest two
are kept, and the segments that both cover are removed where nobody needs them. Nothing is lost without one: the log has
every change; a start from a snapshot is only faster.

examples:
  holdfastctl snapshot             waits until it is there, and says what was made
  holdfastctl snapshot --json      one object: lsn, bytes, ms, peak-bytes

exit status: 0 it is there; 1 it could not be made (the server's own output says why); 2 the server could not be asked)";

using Fields = std::map<std::string, std::string, std::less<>>;

Result<Fields> ask_info(RespClient& client) {
  const auto reply = client.ask({"INFO"});
  if (!reply) return reply.error();
  if (reply->is_error()) return Error::format(ErrorCode::err, "the server says: {}", reply->text);
  Fields fields;
  std::string_view rest = reply->text;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find("\r\n"));
    rest.remove_prefix(std::min(rest.size(), line.size() + 2));
    if (const auto colon = line.find(':'); colon != std::string_view::npos) {
      fields.emplace(line.substr(0, colon), line.substr(colon + 1));
    }
  }
  return fields;
}

std::uint64_t number_of(const Fields& fields, std::string_view name) {
  const auto field = fields.find(name);
  std::uint64_t number = 0;
  if (field != fields.end()) std::from_chars(field->second.data(), field->second.data() + field->second.size(), number);
  return number;
}

/// Until the snapshot has all that was durable at the beginning, or a try failed; what INFO says then.
Result<Fields> wait_for(RespClient& client, const Fields& begin) {
  ProgressLine progress;
  const std::uint64_t wanted = number_of(begin, "durable_lsn");
  for (;;) {
    auto now = ask_info(client);
    if (!now) return now.error();
    const bool failed = number_of(*now, "snapshots_failed") > number_of(begin, "snapshots_failed");
    if (failed || number_of(*now, "snapshot_lsn") >= wanted) return now;
    progress.show(fmt::format("a snapshot is being made, {} s", (*now)["rdb_current_bgsave_time_sec"]));
    std::this_thread::sleep_for(kAskEvery);
  }
}

int print(const Fields& info, bool as_json) {
  if (as_json) {
    fmt::print("{{\"lsn\":{},\"bytes\":{},\"ms\":{},\"peak-bytes\":{}}}\n", number_of(info, "snapshot_lsn"),
               number_of(info, "snapshot_bytes"), number_of(info, "snapshot_last_ms"),
               number_of(info, "snapshot_last_peak_bytes"));
  } else {
    fmt::print("snapshot of LSN {}: {} bytes\n", number_of(info, "snapshot_lsn"), number_of(info, "snapshot_bytes"));
  }
  return kDone;
}

int make_snapshot(RespClient& client, bool as_json) {
  const auto begin = ask_info(client);
  if (!begin) return fail(begin.error());
  const auto asked = client.ask({"BGSAVE", "SCHEDULE"});
  if (!asked) return fail(asked.error());
  if (asked->is_error()) {
    fmt::print(stderr, "holdfastctl: the server says: {}\n", asked->text);
    return kNotOk;
  }
  const auto end = wait_for(client, *begin);
  if (!end) return fail(end.error());
  if (number_of(*end, "snapshot_lsn") >= number_of(*begin, "durable_lsn")) return print(*end, as_json);
  fmt::print(stderr, "holdfastctl: no snapshot could be made; the server's output says why, and it tries again\n");
  return kNotOk;
}

}  // namespace

int snapshot_command(CommandWords words, ServerArguments arguments) {
  CLI::App app("Asks a live server for a snapshot of all that is durable, and waits for it.", "holdfastctl snapshot");
  add_server_options(app, arguments);
  app.footer(kExamples);
  if (const auto status = read_words(app, words)) return *status;
  const auto client = connect(arguments, kTimeout);
  return client ? make_snapshot(**client, arguments.json) : fail(client.error());
}

}  // namespace holdfast
