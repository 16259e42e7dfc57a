#include "protocol/names.h"
#include "storage/log_copy.h"
#include "storage/log_files.h"
#include "storage/machine_clock.h"
#include "storage/posix_file_system.h"
#include "storage/record_lines.h"
#include "tools/backup_directory.h"
#include "tools/holdfastctl_backup.h"
#include "tools/iso_time.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>

namespace holdfast {
namespace {

namespace json = boost::json;

constexpr const char* kExamples =
    R"(Writes a log with another id, which says from which it was forked; sinks that followed the old one have to be told so before
they go on. DATA must not exist, or be empty. Run it as the user that the server runs as.

--until TIME ends before the first record that is later, --until LSN with the last step that ends by then. A TIME is
2026-11-30T08:15:00Z, 2026-11-30 09:15+01:00 or Unix milliseconds; a number of less than 13 digits is an LSN. Holds go on from
then: units of a state that is older than --downtime-max come back held (ITEM RETURNS * FREE).

examples:
  holdfastctl restore /backup/monday --into /var/lib/holdfast
  holdfastctl restore /backup/monday --into /tmp/before --until 2026-11-30T08:15:00Z
  holdfastctl restore /backup/monday --into /tmp/before --until 184467

exit status: 0 restored; 1 the backup is damaged, or does not hold what is asked for; 2 it could not be read or written)";

constexpr std::size_t kUnixMsDigits = 13;

/// Where a restore is to end.
struct Until {
  Lsn lsn{UINT64_MAX};
  WallTime time = WallTime::max();
};

Result<Until> parse_until(const std::string& text) {
  Until until;
  if (text.empty()) return until;
  std::uint64_t lsn = 0;
  if (text.size() < kUnixMsDigits && parse_canonical(text, UINT64_MAX, lsn)) {
    until.lsn = Lsn(lsn);
    return until;
  }
  const auto time = parse_time(text);
  if (!time) return Error::format(ErrorCode::bad_option, "--until: {}, or an LSN", time.error().text());
  until.time = *time;
  return until;
}

class Restore {
 public:
  Restore(std::string from, std::string into, const Until& until)
      : from_(std::move(from)), into_(std::move(into)), until_(until) {}

  Result<void> run() {
    const auto facts = read_backup_facts(from_);
    if (!facts) return facts.error();
    facts_ = *facts;
    std::unique_ptr<FileLock> source_lock;
    if (!facts_) {  // a data directory, then: of a server that does not run
      auto lock = files_.lock(lock_path(from_));
      if (!lock) return lock.error();
      source_lock = std::move(*lock);
    }
    const auto source = look_at_source(files_, from_);
    if (!source) return source.error();
    source_ = *source;
    HOLDFAST_TRY(check_target());
    const auto lock = files_.lock(lock_path(into_));
    if (!lock) return lock.error();
    auto done = write();
    if (!done) static_cast<void>(LogFork::discard(files_, into_));
    return done;
  }

  void print(bool as_json) const {
    if (as_json) {
      json::object line{{"log", hex(identity_.id)}, {"forked-from", hex(source_.identity.id)}};
      line["snapshot-lsn"] = summary_.snapshot.value();
      line["last-lsn"] = summary_.last.value();
      line["last-time"] = iso_time(summary_.last_wall);
      line["state"] = hex(summary_.state);
      line["cut"] = summary_.cut;
      fmt::print("{}\n", render(line, true));
      return;
    }
    fmt::print("{}: log {}, forked from {} after LSN {}, as of {}, state {}\n", into_, hex(identity_.id),
               hex(source_.identity.id), summary_.last.value(), iso_time(summary_.last_wall), hex(summary_.state));
    if (until_.time != WallTime::max() && !summary_.cut) fmt::print("There is nothing later in {}.\n", from_);
  }

 private:
  Result<void> check_target() {
    HOLDFAST_TRY(files_.make_directory(into_));
    const auto found = look_at_directory(files_, into_);
    if (!found) return found.error();
    const auto names = files_.list(into_);
    if (!names) return names.error();
    const bool leftovers = std::all_of(names->begin(), names->end(), [](const std::string& name) {
      return name == "lock" || name == "lost+found" || name.ends_with(".new") || name.ends_with(".new.tmp");
    });
    if (leftovers) return LogFork::discard(files_, into_);
    return Error::format(ErrorCode::bad_option, "--into {}: it is not empty; name a directory that is, or is not there",
                         into_);
  }

  Result<void> write() {
    random_.fill(identity_.id);
    random_.fill(identity_.secret);
    identity_.forked_from_id = source_.identity.id;
    ForkSettings settings;
    settings.directory = into_;
    settings.identity = identity_;
    settings.through = until_.lsn;
    settings.until = until_.time;
    const bool whole = until_.lsn == Lsn(UINT64_MAX) && until_.time == WallTime::max();
    if (whole) settings.clocks = source_.clocks;
    LogFork fork(files_, settings);
    HOLDFAST_TRY(
        copy_log(files_, from_, fork, [this](Lsn lsn) { progress_.show(fmt::format("LSN {}", lsn.value())); }));
    summary_ = fork.summary();
    HOLDFAST_TRY(check_end(whole));
    HOLDFAST_TRY(fork.write_out());
    return LogFork::take_place(files_, into_);
  }

  /// Whether the log ended where it had to.
  Result<void> check_end(bool whole) const {
    const bool has_until_lsn = until_.lsn != Lsn(UINT64_MAX);
    if (has_until_lsn && !summary_.cut && summary_.last < until_.lsn) {
      return Error::format(ErrorCode::not_found, "--until {}: {} ends with LSN {}", until_.lsn.value(), from_,
                           summary_.last.value());
    }
    if (!facts_ || !whole || (summary_.last == facts_->through && summary_.state == facts_->state)) return {};
    return Error::format(ErrorCode::damaged,
                         "{}: it should end with LSN {} and state {}, and ends with LSN {} and state {}", from_,
                         facts_->through.value(), hex(facts_->state), summary_.last.value(), hex(summary_.state));
  }

  std::string from_;
  std::string into_;
  Until until_;
  PosixFileSystem files_;
  MachineRandom random_;
  ProgressLine progress_;
  std::optional<BackupFacts> facts_;
  CopySource source_;
  LogIdentity identity_;
  ForkSummary summary_;
};

bool is_of_the_backup(ErrorCode code) {
  return code == ErrorCode::damaged || code == ErrorCode::not_found || code == ErrorCode::foreign ||
         code == ErrorCode::unsupported;
}

}  // namespace

int restore_command(CommandWords words, ServerArguments arguments) {
  std::string from, into, until_text;
  CLI::App app("Makes a data directory of a backup.", "holdfastctl restore");
  app.add_option("backup", from, "A backup, or a data directory of a server that does not run")
      ->type_name("DIR")
      ->required();
  app.add_option("--into", into, "The data directory that is to be made")->type_name("DATA")->required();
  app.add_option("--until", until_text, "The state as it was then, not the last one")->type_name("TIME|LSN");
  app.add_flag("--json", arguments.json, "What was made as a JSON object");
  app.footer(kExamples);
  if (const auto status = read_words(app, words)) return *status;
  const auto until = parse_until(until_text);
  if (!until) return fail(until.error());
  Restore restore(from, into, *until);
  const auto done = restore.run();
  if (done) return restore.print(arguments.json), kDone;
  fail(done.error());
  return is_of_the_backup(done.error().code()) ? kNotOk : kCouldNotTell;
}

}  // namespace holdfast
