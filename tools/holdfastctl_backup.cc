#include "tools/holdfastctl_backup.h"

#include "storage/log_copy.h"
#include "storage/log_files.h"
#include "storage/log_inspect.h"
#include "storage/machine_clock.h"
#include "storage/posix_file_system.h"
#include "storage/record_lines.h"
#include "tools/backup_directory.h"
#include "tools/iso_time.h"
#include "tools/log_client.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

namespace holdfast {
namespace {

constexpr std::chrono::seconds kTimeout{60};
constexpr const char* kExamples =
    R"(DIR must not exist, or be empty; it is called DIR.tmp until it is whole and durable. No server starts from a backup: the
log's secret is not in it. `holdfastctl restore` makes a data directory of it.

Of a running server it needs the role relay, and reads what the server would serve a relay; sales go on meanwhile.

examples:
  holdfastctl backup /backup/monday                                  of the server on this machine
  holdfastctl --server shop:7379 --user backup --secret-file FILE backup /backup/monday
  holdfastctl backup /backup/monday --data-dir /var/lib/holdfast     of a server that does not run

exit status: 0 made; 2 not made, with the reason)";

WallTime now_of(Clock& clock) { return WallTime(std::chrono::floor<Millis>(clock.read().wall)); }

/// The identity under which others may see the log.
LogIdentity without_secret(LogIdentity identity) {
  identity.secret = LogSecret();
  return identity;
}

class Backup {
 public:
  Backup(std::string directory, bool as_json) : directory_(std::move(directory)), json_(as_json) {}

  Result<void> of_data_directory(const std::string& data) {
    const auto verdict = verify_log(files_, clock_, random_, data);
    if (!verdict) return verdict.error();
    if (!verdict->usable) return Error::format(ErrorCode::damaged, "{}", verdict->refusal);
    const auto lock = files_.lock(lock_path(data));
    if (!lock) return lock.error();
    const auto source = look_at_source(files_, data);
    if (!source) return source.error();
    auto backup = BackupDirectory::begin(files_, directory_);
    if (!backup) return backup.error();
    ForkSettings settings;
    settings.directory = backup->path();
    settings.identity = without_secret(source->identity);
    settings.forks = false;
    settings.through = verdict->found.last_lsn;
    settings.clocks = source->clocks;
    LogFork copy(files_, settings);
    HOLDFAST_TRY(copy_log(files_, data, copy, [this](Lsn lsn) { progress_.show(fmt::format("LSN {}", lsn.value())); }));
    HOLDFAST_TRY(copy.write_out());
    return publish(*backup, source->identity.id, copy.summary(), data);
  }

  /// Up to what is durable when it begins.
  Result<void> of_server(RespClient& server, const std::string& name) {
    LogClient log(server);
    HOLDFAST_TRY(log.look());
    auto backup = BackupDirectory::begin(files_, directory_);
    if (!backup) return backup.error();
    const bool whole = log.oldest() <= Lsn(1);
    const std::string snapshot = fmt::format("{}/snapshot-served.tmp", backup->path());
    const auto base = whole ? Result<Lsn>(Lsn()) : fetch_snapshot(log, snapshot);
    if (!base) return base.error();
    ForkSettings settings;
    settings.directory = backup->path();
    settings.identity.id = log.log();
    settings.forks = false;
    settings.through = log.durable();
    LogFork copy(files_, settings);
    if (!whole) HOLDFAST_TRY(copy.begin_with(snapshot));
    HOLDFAST_TRY(log.read(base->next(), [&](const BatchHeader& header, std::span<const std::byte> body) {
      const auto added = copy.add(header, body);
      progress_.show(fmt::format("LSN {} of {}", header.last_lsn().value(), log.durable().value()));
      return added;
    }));
    HOLDFAST_TRY(copy.write_out());
    if (!whole) HOLDFAST_TRY(files_.remove(snapshot));
    return publish(*backup, log.log(), copy.summary(), name);
  }

 private:
  Result<Lsn> fetch_snapshot(LogClient& log, const std::string& path) {
    auto file = files_.open(path, OpenMode::create);
    if (!file) return file.error();
    return log.read_snapshot([&](std::uint64_t offset, std::span<const std::byte> bytes) {
      progress_.show(fmt::format("snapshot: {} MiB", offset / 1_MiB));
      return (*file)->write(offset, bytes);
    });
  }

  Result<void> publish(BackupDirectory& backup, const LogId& log, const ForkSummary& summary, const std::string& from) {
    BackupFacts facts;
    facts.log = log;
    facts.snapshot = summary.snapshot;
    facts.through = summary.last;
    facts.through_time = summary.last_wall;
    facts.state = summary.state;
    facts.made = now_of(clock_);
    facts.from = from;
    HOLDFAST_TRY(backup.publish(facts));
    if (json_) {
      fmt::print("{}\n", render(show(facts), true));
    } else {
      fmt::print("{}: log {} up to LSN {}, {}, state {}\n", directory_, hex(log), summary.last.value(),
                 iso_time(summary.last_wall), hex(summary.state));
    }
    return {};
  }

  std::string directory_;
  bool json_;
  PosixFileSystem files_;
  MachineClock clock_;
  MachineRandom random_;
  ProgressLine progress_;
};

}  // namespace

int backup_command(CommandWords words, ServerArguments arguments) {
  std::string directory, data;
  CLI::App app("Makes a backup of a server while it runs, up to what is durable when it begins.", "holdfastctl backup");
  app.add_option("directory", directory, "The backup that is to be made")->type_name("DIR")->required();
  app.add_option("--data-dir", data, "Of this data directory, whose server does not run, instead")->type_name("DATA");
  add_server_options(app, arguments);
  app.footer(kExamples);
  if (const auto status = read_words(app, words)) return *status;
  Backup backup(directory, arguments.json);
  if (!data.empty()) {
    const auto done = backup.of_data_directory(data);
    return done ? kDone : fail(done.error());
  }
  const auto client = connect(arguments, kTimeout);
  if (!client) return fail(client.error());
  const auto done = backup.of_server(**client, arguments.server);
  return done ? kDone : fail(done.error());
}

}  // namespace holdfast
