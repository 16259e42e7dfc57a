// holdfast-relay: carries a server's log to sinks, exactly once. Exit status: 0 done, or ended by SIGTERM; 1 no sink can go
// on without a person; 2 wrong arguments; 3 another relay has taken a sink over.
#include "replication/file_sink.h"
#include "replication/postgres_migrate.h"
#include "replication/postgres_sink.h"
#include "storage/notify.h"
#include "storage/sinks_format.h"
#include "tools/relay_metrics.h"
#include "tools/relay_runner.h"
#include "tools/server_log_source.h"

#include <fmt/format.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <csignal>
#include <cstdio>
#include <set>

namespace holdfast {
namespace {

constexpr int kFailed = 1;
constexpr int kUsage = 2;
constexpr int kSuperseded = 3;
constexpr int kSinkEnded = SIGUSR1;
constexpr std::size_t kNameBytesMax = 64;

constexpr const char* kFooter = R"(sinks (several, each with its own cursor, speed and health):
  file=PATH                  a line of JSON for each event, for a first look; PATH.cursor says how far
  postgres=URL               items, orders and journal as tables; URL as libpq takes it, the password in PGPASSFILE
  KIND:NAME=TARGET           the same under a name of its own, by which the server knows the sink

examples:
  holdfast-relay migrate --postgres 'host=db dbname=shop user=relay'
  holdfast-relay --from 127.0.0.1:7379 --sink 'postgres=host=db dbname=shop user=relay'
  holdfast-relay --from 127.0.0.1:7379 --sink file=orders.jsonl --metrics-port 0

A sink that is down only falls behind. Exit status: 0 ended by SIGTERM, 1 no sink can go on without a person, 2 wrong
arguments, 3 another relay has taken a sink over.)";

int fail(const Error& error) {
  fmt::print(stderr, "holdfast-relay: {}\n", error.text());
  return error.code() == ErrorCode::bad_option ? kUsage : kFailed;
}

struct MigrateArguments {
  std::string postgres;
  std::string ids;
};

int migrate_command(const MigrateArguments& arguments) {
  std::optional<OutsideIds> ids;
  if (arguments.ids == "text") ids = OutsideIds::text;
  if (arguments.ids == "bigint") ids = OutsideIds::bigint;
  const auto connection = PostgresConnection::connect(arguments.postgres);
  if (!connection) return fail(connection.error());
  const auto report = migrate(**connection, ids);
  if (!report) return fail(report.error());
  if (report->before == report->after) {
    fmt::print("schema version {}, {} ids: nothing to do\n", report->after, ids_name(report->ids));
  } else {
    fmt::print("schema version {} -> {}, {} ids\n", report->before, report->after, ids_name(report->ids));
  }
  return 0;
}

struct RelayArguments {
  std::string from = "127.0.0.1:7379";
  std::vector<std::string> sinks;
  std::string user;
  std::string secret_file;
  bool existing_items = false;
  std::string metrics_bind = "127.0.0.1";
  std::uint16_t metrics_port = 9380;
};

/// KIND[:NAME]=TARGET.
struct SinkWords {
  std::string kind;
  std::string name;
  std::string target;
};

Result<SinkWords> parse_sink(const std::string& text) {
  const std::size_t equals = text.find('=');
  SinkWords words;
  words.kind = text.substr(0, equals);
  if (equals != std::string::npos) words.target = text.substr(equals + 1);
  const std::size_t colon = words.kind.find(':');
  words.name = colon == std::string::npos ? words.kind : words.kind.substr(colon + 1);
  words.kind.resize(std::min(colon, words.kind.size()));
  constexpr std::string_view kAllowed = "abcdefghijklmnopqrstuvwxyz0123456789_-";
  const bool named = !words.name.empty() && words.name.size() <= kNameBytesMax &&
                     words.name.find_first_not_of(kAllowed) == std::string::npos;
  if (!named || words.target.empty() || (words.kind != "file" && words.kind != "postgres")) {
    return Error::format(ErrorCode::bad_option,
                         "--sink: '{}' is none of file=PATH, postgres=URL, KIND:NAME=TARGET (names of a-z 0-9 _ -)",
                         Echo(text.substr(0, equals)).text());
  }
  return words;
}

Result<std::vector<RelaySink>> make_sinks(const RelayArguments& arguments) {
  const auto credentials = find_credentials(arguments.user, arguments.secret_file);
  if (!credentials) return credentials.error();
  std::vector<RelaySink> sinks;
  std::set<std::string> names;
  for (const std::string& text : arguments.sinks) {
    const auto words = parse_sink(text);
    if (!words) return words.error();
    if (!names.insert(words->name).second) {
      return Error::format(ErrorCode::bad_option, "--sink: two are called {}; give one a name by KIND:NAME=TARGET",
                           words->name);
    }
    auto sink = words->kind == "file" ? make_file_sink(words->target)
                                      : make_postgres_sink({words->name, words->target, arguments.existing_items});
    sinks.push_back({words->name, std::move(sink), make_server_log_source(arguments.from, *credentials)});
  }
  if (sinks.empty() || sinks.size() > kSinksMax) {
    return Error::format(ErrorCode::bad_option, "--sink: 1 to {} are possible, {} were given", kSinksMax, sinks.size());
  }
  return sinks;
}

/// The signals that end the program, and the one by which a sink's thread says that it has ended. Blocked everywhere, so
/// that only the main thread takes them.
sigset_t block_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGTERM, SIGINT, kSinkEnded}) sigaddset(&set, signal);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  return set;
}

/// Nothing while a sink goes on; else the exit status.
std::optional<int> verdict(const std::vector<NamedStatus>& statuses) {
  bool going_on = false;
  for (const NamedStatus& each : statuses) {
    if (each.status.state == FeedState::superseded) return kSuperseded;
    going_on |= each.status.state != FeedState::stopped;
  }
  if (going_on) return std::nullopt;
  return kFailed;
}

int relay_command(const RelayArguments& arguments) {
  auto sinks = make_sinks(arguments);
  if (!sinks) return fail(sinks.error());
  const sigset_t signals = block_signals();
  RelayRunner runner(std::move(*sinks), [] { kill(getpid(), kSinkEnded); });
  std::unique_ptr<RelayMetrics> metrics;
  if (arguments.metrics_port != 0) {
    auto served = RelayMetrics::serve(fmt::format("{}:{}", arguments.metrics_bind, arguments.metrics_port), runner);
    if (!served) return fail(served.error());
    metrics = std::move(*served);
  }
  notify_manager("READY=1");
  std::optional<int> status;
  while (!status) {
    int signal = 0;
    if (sigwait(&signals, &signal) != 0) continue;
    status = signal == kSinkEnded ? verdict(runner.statuses()) : 0;
  }
  notify_manager("STOPPING=1");
  return *status;
}

int run(int argc, char** argv) {
  CLI::App app("Carries the log of a Holdfast server to PostgreSQL and files, exactly once.", "holdfast-relay");
  app.footer(kFooter);
  app.require_subcommand(0, 1);
  RelayArguments relaying;
  app.add_option("--from", relaying.from, "The server, 127.0.0.1:7379 if not said.")->type_name("HOST:PORT");
  app.add_option("--sink", relaying.sinks, "Where to; may be given several times.")->type_name("KIND=TARGET");
  app.add_option("--user", relaying.user, "The user to be, with role relay; default if not said.")->type_name("NAME");
  app.add_option("--secret-file", relaying.secret_file,
                 "Its first line is the secret; else HOLDFASTCTL_AUTH or REDISCLI_AUTH.")
      ->type_name("FILE");
  app.add_flag("--existing-items", relaying.existing_items,
               "Takes over rows of flash_sale_item that people made, with the quantity they have.");
  app.add_option("--metrics-bind", relaying.metrics_bind, "Address of /metrics, 127.0.0.1 if not said.")
      ->type_name("ADDRESS");
  app.add_option("--metrics-port", relaying.metrics_port, "Its port, 9380 if not said; 0: off.")->type_name("PORT");
  MigrateArguments migrating;
  auto* const migrate_app = app.add_subcommand("migrate", "Makes or updates the tables that the postgres sink writes.");
  migrate_app->add_option("--postgres", migrating.postgres, "The database, as libpq takes it.")
      ->type_name("URL")
      ->required();
  migrate_app->add_option("--ids", migrating.ids, "How items and users are called: text if not said, or bigint.")
      ->check(CLI::IsMember({"text", "bigint"}));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kUsage;
  }
  return migrate_app->parsed() ? migrate_command(migrating) : relay_command(relaying);
}

}  // namespace
}  // namespace holdfast

int main(int argc, char** argv) { return holdfast::run(argc, argv); }
