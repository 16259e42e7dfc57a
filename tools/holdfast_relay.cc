// holdfast-relay: carries a server's log to sinks, exactly once. Exit status: 0 done, or stopped by SIGTERM; 1 a sink
// needs a person; 2 wrong arguments; 3 another relay has taken a sink over.
#include "replication/postgres_migrate.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <cstdio>

namespace holdfast {
namespace {

constexpr int kFailed = 1;
constexpr int kUsage = 2;

struct MigrateArguments {
  std::string postgres;
  std::string ids;
};

int migrate_command(const MigrateArguments& arguments) {
  const auto fail = [](const Error& error) {
    fmt::print(stderr, "holdfast-relay: {}\n", error.text());
    return error.code() == ErrorCode::bad_option ? kUsage : kFailed;
  };
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

int run(int argc, char** argv) {
  CLI::App app("Carries the log of a Holdfast server to PostgreSQL and files, exactly once.", "holdfast-relay");
  app.require_subcommand(1);
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
  return migrate_command(migrating);
}

}  // namespace
}  // namespace holdfast

int main(int argc, char** argv) { return holdfast::run(argc, argv); }
