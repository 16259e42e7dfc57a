#include "tools/relay_begin.h"

#include "tools/served_snapshot.h"
#include "tools/server_log_source.h"

#include <fmt/format.h>

#include <cstdio>

namespace holdfast {
namespace {

constexpr std::chrono::seconds kTimeout{30};

void tell(const std::string& sink, const StartReport& report) {
  fmt::print("sink {}: begins with LSN {} of log {}: {} items, {} reservations, of which {} parked\n", sink,
             report.cursor.lsn.value(), log_id_text(report.cursor.log), report.items, report.orders, report.parked);
  if (report.no_row > 0) {
    fmt::print("sink {}: {} more that have ended have no row, since it was refused: holdfastctl parked list --all\n",
               sink, report.no_row);
  }
  if (!report.set_aside.empty()) fmt::print("sink {}: what it had is in {}\n", sink, report.set_aside);
}

/// The server forgets what it knew of the sink, above all what was parked there, and keeps its log from here on.
Result<void> register_anew(RespClient& client, LogSource& source, const std::string& sink, Lsn lsn) {
  const auto dropped = client.ask({"LOG", "SINKS", "DROP", sink, "CONFIRM"});
  if (!dropped) return dropped.error();
  return source.acknowledge(sink, lsn, {});
}

Result<void> bootstrap(const RelayArguments& arguments, const Credentials& credentials, NamedSink& named) {
  auto client = RespClient::connect(arguments.from, kTimeout, credentials);
  if (!client) return client.error();
  LogClient log(**client);
  HOLDFAST_TRY(log.look());
  ServedSnapshot served(log);
  auto snapshot = served.fetch([](std::uint64_t) {});
  if (!snapshot) return snapshot.error();
  Result<void> held;
  StartState state(*snapshot, [&](std::uint64_t) {
    if (held) held = served.hold();
  });
  const auto report = named.sink->bootstrap(state, arguments.set_aside);
  if (!report) return report.error();
  tell(named.name, *report);
  HOLDFAST_TRY(held);
  return register_anew(**client, *make_server_log_source(arguments.from, credentials), named.name, report->cursor.lsn);
}

Result<void> adopt(const RelayArguments& arguments, const Credentials& credentials, NamedSink& named) {
  const auto source = make_server_log_source(arguments.from, credentials);
  const auto range = source->look();
  if (!range) return range.error();
  const auto cursor = named.sink->adopt(*range);
  if (!cursor) return cursor.error();
  fmt::print("sink {}: goes on at LSN {} of log {}\n", named.name, cursor->lsn.value(), log_id_text(cursor->log));
  return source->acknowledge(named.name, cursor->lsn, {});
}

using Begin = Result<void> (*)(const RelayArguments&, const Credentials&, NamedSink&);

int for_each_sink(const RelayArguments& arguments, Begin begin) {
  const auto credentials = find_credentials(arguments.user, arguments.secret_file);
  if (!credentials) return relay_fail(credentials.error());
  auto sinks = make_sinks(arguments);
  if (!sinks) return relay_fail(sinks.error());
  for (NamedSink& named : *sinks) {
    const auto begun = begin(arguments, *credentials, named);
    if (!begun) {
      return relay_fail(Error::format(begun.error().code(), "sink {}: {}", named.name, begun.error().text()));
    }
  }
  return 0;
}

}  // namespace

int bootstrap_command(const RelayArguments& arguments) { return for_each_sink(arguments, bootstrap); }

int adopt_command(const RelayArguments& arguments) { return for_each_sink(arguments, adopt); }

}  // namespace holdfast
