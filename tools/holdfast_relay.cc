// holdfast-relay: carries a server's log to sinks, exactly once. Exit status: 0 done, or ended by SIGTERM; 1 no sink can go
// on without a person; 2 wrong arguments; 3 another relay has taken a sink over.
#include "replication/postgres_migrate.h"
#include "storage/notify.h"
#include "tools/relay_begin.h"
#include "tools/relay_metrics.h"
#include "tools/relay_runner.h"
#include "tools/server_log_source.h"

#include <fmt/format.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <csignal>
#include <cstdio>

namespace holdfast {
namespace {

constexpr int kSinkEnded = SIGUSR1;

constexpr const char* kBootstrapFooter =
    R"(The server needs a snapshot: holdfastctl snapshot makes one. A relay that has the sink ends with exit status 3.

examples:
  holdfast-relay bootstrap --from 127.0.0.1:7379 --sink 'postgres=host=db dbname=shop user=relay'
  holdfast-relay bootstrap --from 127.0.0.1:7379 --sink 'postgres=host=db dbname=shop user=owner' --set-aside)";

constexpr const char* kFooter = R"(sinks (several, each with its own cursor, speed and health):
  file=PATH                  a line of JSON for each event, for a first look; PATH.cursor says how far
  kafka=HOST:PORT,...        orders and events as records of Kafka topics, in transactions (read them as read_committed)
  postgres=URL               items, orders and journal as tables; URL as libpq takes it, the password in PGPASSFILE
  KIND:NAME=TARGET           the same under a name of its own, by which the server knows the sink

who writes the orders:
  A  you do, from whatever you have: no relay, or the kafka sink with --kafka-orders-topic '': events only
  B  you do, from what the kafka sink publishes
  C  the relay does: the postgres sink; a table flash_sale_item of yours is taken over by --existing-items

examples:
  holdfast-relay migrate --postgres 'host=db dbname=shop user=relay'
  holdfast-relay --from 127.0.0.1:7379 --sink 'postgres=host=db dbname=shop user=relay'
  holdfast-relay --from 127.0.0.1:7379 --sink file=orders.jsonl --metrics-port 0
  holdfast-relay --from 127.0.0.1:7379 --sink kafka=k1:9092,k2:9092 --kafka-header __TypeId__=shop.OrderPlaced
  holdfast-relay --from 127.0.0.1:7379 --sink kafka=k1:9093 --kafka-property security.protocol=SASL_SSL \
    --kafka-property sasl.mechanism=PLAIN --kafka-property sasl.username=relay --kafka-property sasl.password=@/etc/holdfast/kafka
  holdfast-relay bootstrap --from 127.0.0.1:7379 --sink 'postgres=host=db dbname=shop user=owner' --set-aside
  holdfast-relay adopt --from 127.0.0.1:7379 --sink 'postgres=host=db dbname=shop user=relay'

A sink that is down only falls behind. Exit status: 0 ended by SIGTERM, 1 no sink can go on without a person, 2 wrong
arguments, 3 another relay has taken a sink over.)";

struct MigrateArguments {
  std::string postgres;
  std::string ids;
};

int migrate_command(const MigrateArguments& arguments) {
  std::optional<OutsideIds> ids;
  if (arguments.ids == "text") ids = OutsideIds::text;
  if (arguments.ids == "bigint") ids = OutsideIds::bigint;
  const auto connection = PostgresConnection::connect(arguments.postgres);
  if (!connection) return relay_fail(connection.error());
  const auto report = migrate(**connection, ids);
  if (!report) return relay_fail(report.error());
  if (report->before == report->after) {
    fmt::print("schema version {}, {} ids: nothing to do\n", report->after, ids_name(report->ids));
  } else {
    fmt::print("schema version {} -> {}, {} ids\n", report->before, report->after, ids_name(report->ids));
  }
  return 0;
}

/// Each sink reads the log by itself.
Result<std::vector<RelaySink>> make_relay_sinks(const RelayArguments& arguments) {
  const auto credentials = find_credentials(arguments.user, arguments.secret_file);
  if (!credentials) return credentials.error();
  auto named = make_sinks(arguments);
  if (!named) return named.error();
  std::vector<RelaySink> sinks;
  for (NamedSink& each : *named) {
    sinks.push_back({each.name, std::move(each.sink), make_server_log_source(arguments.from, *credentials)});
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
    if (each.status.state == FeedState::superseded) return kRelaySuperseded;
    going_on |= each.status.state != FeedState::stopped;
  }
  if (going_on) return std::nullopt;
  return kRelayFailed;
}

int relay_command(const RelayArguments& arguments) {
  auto sinks = make_relay_sinks(arguments);
  if (!sinks) return relay_fail(sinks.error());
  const sigset_t signals = block_signals();
  RelayRunner runner(std::move(*sinks), [] { kill(getpid(), kSinkEnded); });
  std::unique_ptr<RelayMetrics> metrics;
  if (arguments.metrics_port != 0) {
    auto served = RelayMetrics::serve(fmt::format("{}:{}", arguments.metrics_bind, arguments.metrics_port), runner);
    if (!served) return relay_fail(served.error());
    metrics = std::move(*served);
  }
  runner.start();  // nothing is taken over before all that can fail here has not
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

void add_kafka_options(CLI::App& app, RelayArguments& arguments) {
  KafkaSinkSettings& kafka = arguments.kafka;
  app.add_option("--kafka-orders-topic", kafka.orders_topic, "Placed orders; flash-sale-orders if not said, '': none.")
      ->type_name("TOPIC");
  app.add_option("--kafka-events-topic", kafka.events_topic,
                 "All changes of items and reservations; flash-sale-events if not said.")
      ->type_name("TOPIC");
  app.add_option("--kafka-cursor-topic", kafka.cursor_topic, "How far the sink is; holdfast-cursors if not said.")
      ->type_name("TOPIC");
  app.add_option("--kafka-header", arguments.kafka_headers, "A header of every order and event; several are possible.")
      ->type_name("NAME=VALUE");
  app.add_option("--kafka-property", arguments.kafka_properties,
                 "A property of librdkafka, for TLS, SASL and sizes; several are possible; of a secret, NAME=@FILE.")
      ->type_name("NAME=VALUE");
  app.add_flag("--accept-partitions", kafka.accept_partitions,
               "The count of a topic's partitions was changed on purpose, and consumers have read what was before.");
  app.add_flag(
      "--allow-unreplicated", kafka.allow_unreplicated,
      "Topics may have fewer than 3 replicas, and min.insync.replicas may be below 2: a lost broker loses records.");
}

/// What is said of server and sinks, whatever is to be done with them.
void add_options(CLI::App& app, RelayArguments& arguments) {
  app.add_option("--from", arguments.from, "The server, 127.0.0.1:7379 if not said.")->type_name("HOST:PORT");
  app.add_option("--sink", arguments.sinks, "Where to; may be given several times.")->type_name("KIND=TARGET");
  app.add_option("--user", arguments.user, "The user to be, with role relay; default if not said.")->type_name("NAME");
  app.add_option("--secret-file", arguments.secret_file,
                 "Its first line is the secret; else HOLDFASTCTL_AUTH or REDISCLI_AUTH.")
      ->type_name("FILE");
  app.add_flag("--existing-items", arguments.existing_items,
               "Takes over rows of flash_sale_item that people made, with the quantity they have.");
  add_kafka_options(app, arguments);
  app.add_option("--metrics-bind", arguments.metrics_bind, "Address of /metrics, 127.0.0.1 if not said.")
      ->type_name("ADDRESS");
  app.add_option("--metrics-port", arguments.metrics_port, "Its port, 9380 if not said; 0: off.")->type_name("PORT");
}

int run(int argc, char** argv) {
  CLI::App app("Carries the log of a Holdfast server to Kafka, PostgreSQL and files, exactly once.", "holdfast-relay");
  app.footer(kFooter);
  app.require_subcommand(0, 1);
  RelayArguments relaying;
  add_options(app, relaying);
  MigrateArguments migrating;
  auto* const migrate_app = app.add_subcommand("migrate", "Makes or updates the tables that the postgres sink writes.");
  migrate_app->add_option("--postgres", migrating.postgres, "The database, as libpq takes it.")
      ->type_name("URL")
      ->required();
  migrate_app->add_option("--ids", migrating.ids, "How items and users are called: text if not said, or bigint.")
      ->check(CLI::IsMember({"text", "bigint"}));
  migrate_app->footer("example: holdfast-relay migrate --postgres 'host=db dbname=shop user=owner' --ids bigint");
  auto* const bootstrap_app = app.add_subcommand(
      "bootstrap", "Makes sinks begin with the server's newest snapshot; takes --from, --sink ... as above.");
  bootstrap_app->fallthrough();
  bootstrap_app->add_flag(
      "--set-aside", relaying.set_aside,
      "What a sink has is copied: tables into schema holdfast_before_<n>, a file to PATH.before-<n>; topics keep it.");
  bootstrap_app->footer(kBootstrapFooter);
  auto* const adopt_app = app.add_subcommand(
      "adopt", "Makes sinks go on with a log that went on from theirs: after restore or repair --accept-loss.");
  adopt_app->fallthrough();
  adopt_app->footer(
      "example: holdfast-relay adopt --from 127.0.0.1:7379 --sink 'postgres=host=db dbname=shop user=relay'");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kRelayUsage;
  }
  if (migrate_app->parsed()) return migrate_command(migrating);
  if (bootstrap_app->parsed()) return bootstrap_command(relaying);
  if (adopt_app->parsed()) return adopt_command(relaying);
  return relay_command(relaying);
}

}  // namespace
}  // namespace holdfast

int main(int argc, char** argv) { return holdfast::run(argc, argv); }
