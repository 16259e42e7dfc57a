#include "tools/relay_begin.h"

#include "storage/posix_file_system.h"
#include "storage/snapshot_reader.h"
#include "tools/log_client.h"
#include "tools/server_log_source.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>

namespace holdfast {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr std::chrono::seconds kTimeout{30};
/// The server keeps a snapshot and the log behind it for a minute after it was last read.
constexpr std::chrono::seconds kHoldEvery{15};

/// A folder that goes with what is in it.
class ScratchFolder {
 public:
  static Result<std::unique_ptr<ScratchFolder>> make() {
    std::string path = (std::filesystem::temp_directory_path() / "holdfast-relay-XXXXXX").string();
    if (mkdtemp(path.data()) == nullptr) return Error::format(ErrorCode::io_failed, "mkdtemp {} failed", path);
    return std::unique_ptr<ScratchFolder>(new ScratchFolder(std::move(path)));
  }
  ~ScratchFolder() {
    std::error_code ec;
    std::filesystem::remove_all(path_, ec);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  std::string file(const char* name) const { return path_ + "/" + name; }

 private:
  explicit ScratchFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

/// A server's newest snapshot: fetched, checked, and held there with the log behind it.
class ServedSnapshot {
 public:
  explicit ServedSnapshot(RespClient& client) : log_(client) {}

  Result<SnapshotReader> fetch() {
    HOLDFAST_TRY(log_.look());
    auto folder = ScratchFolder::make();
    if (!folder) return folder.error();
    folder_ = std::move(*folder);
    const std::string path = folder_->file("snapshot");
    auto file = files_.open(path, OpenMode::create);
    if (!file) return file.error();
    const auto lsn = log_.read_snapshot(
        [&](std::uint64_t offset, std::span<const std::byte> bytes) { return (*file)->write(offset, bytes); });
    if (!lsn) return lsn.error();
    lsn_ = *lsn;
    held_at_ = SteadyClock::now();
    auto reader = SnapshotReader::open(files_, path);
    if (!reader) return reader.error();
    HOLDFAST_TRY(reader->verify());
    return reader;
  }

  /// Often while it is used: the log that follows it must still be there in the end.
  Result<void> hold() {
    if (SteadyClock::now() < held_at_ + kHoldEvery) return {};
    held_at_ = SteadyClock::now();
    return log_.hold_snapshot(lsn_);
  }

 private:
  LogClient log_;
  PosixFileSystem files_;
  std::unique_ptr<ScratchFolder> folder_;
  Lsn lsn_;
  SteadyClock::time_point held_at_{};
};

void tell(const std::string& sink, const StartReport& report) {
  fmt::print("sink {}: begins with LSN {} of log {}: {} items, {} reservations, of which {} parked\n", sink,
             report.cursor.lsn.value(), log_id_text(report.cursor.log), report.items, report.orders, report.parked);
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
  ServedSnapshot served(**client);
  auto snapshot = served.fetch();
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
