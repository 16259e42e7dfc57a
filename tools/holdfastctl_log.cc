#include "tools/holdfastctl_log.h"

#include "storage/log_inspect.h"
#include "storage/machine_clock.h"
#include "storage/posix_file_system.h"
#include "tools/control_arguments.h"
#include "tools/holdfastctl_repair.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <cstdio>

namespace holdfast {
namespace {

void print_line(std::string_view line) {
  std::fwrite(line.data(), 1, line.size(), stdout);
  std::fputc('\n', stdout);
}

int failed(const Error& error) {
  std::fflush(stdout);
  fmt::print(stderr, "{}\n", error.text());
  return kNotOk;
}

struct Arguments {
  DumpOptions dump;
  std::uint64_t from = 1;
  std::uint64_t through = UINT64_MAX;
  std::uint64_t floor = 0;
};

int dump(Arguments& arguments) {
  PosixFileSystem files;
  arguments.dump.from = Lsn(arguments.from);
  arguments.dump.through = Lsn(arguments.through);
  const auto done = dump_log(files, arguments.dump, print_line);
  return done ? 0 : failed(done.error());
}

int verify(const Arguments& arguments) {
  PosixFileSystem files;
  MachineClock clock;
  MachineRandom random;
  const auto verdict = verify_log(files, clock, random, arguments.dump.directory, Lsn(arguments.floor));
  if (!verdict) return failed(verdict.error());
  print_verdict(*verdict, arguments.dump.json, print_line);
  return verdict->usable ? 0 : kNotOk;
}

}  // namespace

int log_command(std::span<const std::string> arguments) {
  Arguments given;
  RepairArguments repair;
  CLI::App app("Looks into the log of a data directory, without a server", "holdfastctl log");
  app.require_subcommand(1);
  auto* const dump_app = app.add_subcommand("dump", "Lists the records, one a line");
  auto* const verify_app =
      app.add_subcommand("verify", "Says whether a start would accept the log, and what a repair would lose");
  for (auto* const sub : {dump_app, verify_app}) {
    sub->add_option("directory", given.dump.directory, "The data directory")->required();
    sub->add_flag("--json", given.dump.json, "JSON objects instead of text");
  }
  dump_app->add_option("--from", given.from, "First LSN")->capture_default_str();
  dump_app->add_option("--through", given.through, "Last LSN");
  dump_app->add_flag("--frames", given.dump.frames, "Also segments, batches and CLOCK records");
  auto* const repair_app = app.add_subcommand("repair", "Keeps what is sound of a log that a server refuses");
  repair_app->add_option("directory", repair.directory, "The data directory")->required();
  repair_app->add_flag("--accept-loss", repair.accept_loss, "Do it; without, only what would be lost is told");
  repair_app->add_flag("--json", repair.json, "JSON objects instead of text");
  repair_app->footer(kRepairExamples);
  verify_app->add_option("--floor", given.floor, "An LSN that a sink has acknowledged: the log must reach it");
  if (const auto status = read_words(app, arguments)) return *status;
  if (repair_app->parsed()) return repair_log(repair);
  return dump_app->parsed() ? dump(given) : verify(given);
}

}  // namespace holdfast
