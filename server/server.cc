#include "server/server.h"

#include "protocol/check.h"
#include "server/descriptors.h"
#include "server/listener.h"
#include "server/log_stream_thread.h"
#include "server/loop.h"
#include "server/metrics_server.h"
#include "server/sharded_replay.h"
#include "server/snapshot_keeper.h"
#include "storage/machine_clock.h"
#include "storage/notify.h"
#include "storage/posix_file_system.h"

#include <fmt/format.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <thread>

namespace holdfast {
namespace {

constexpr int kCannotStart = 1;
constexpr std::chrono::seconds kProgressEvery{2};

/// One line for the operator; a single write, so that lines of threads do not mix.
void say(std::string_view text) {
  const std::string line = fmt::format("holdfastd: {}\n", text);
  [[maybe_unused]] const auto size = ::write(STDERR_FILENO, line.data(), line.size());
}

/// Signals that end the server, blocked in this thread and those it starts, as a descriptor.
FileDescriptor take_signals() {
  sigset_t ending;
  sigemptyset(&ending);
  sigaddset(&ending, SIGTERM);
  sigaddset(&ending, SIGINT);
  CHECK(pthread_sigmask(SIG_BLOCK, &ending, nullptr) == 0);
  std::signal(SIGPIPE, SIG_IGN);
  return FileDescriptor(signalfd(-1, &ending, SFD_CLOEXEC | SFD_NONBLOCK));
}

std::string make_run_id(Random& random) {
  std::array<std::uint8_t, 20> bytes{};
  random.fill(bytes);
  std::string text;
  for (const std::uint8_t byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

FsyncPolicy policy_of(std::string_view mode) noexcept {
  return mode == "always" ? FsyncPolicy::always : mode == "everysec" ? FsyncPolicy::everysec : FsyncPolicy::never;
}

std::size_t threads_of(const Options& options) {
  const std::uint64_t processors = std::max(1U, std::thread::hardware_concurrency());
  return options.shards.value_or(std::min(processors, kThreadsMax));
}

/// As the server can keep them.
Options fitted(Options options) {
  options.maxclients = fitting_connections(options.maxclients, threads_of(options), say);
  return options;
}

class Server final : public MetricsSource {
 public:
  explicit Server(const CommandLine& line)
      : options_(line.options), hub_(threads_of(line.options), fitted(line.options), make_run_id(random_)) {
    hub_.log_stream = &log_stream_;
    for (std::size_t i = 0; i < hub_.threads(); ++i) {
      loops_.push_back(
          std::make_unique<Loop>(hub_, ThreadIndex(static_cast<std::uint16_t>(i)), line.users, clock_, say));
    }
  }

  int run() {
    loops_.front()->watch_signals(take_signals());
    auto listener = open_listener(options_.bind, static_cast<std::uint16_t>(options_.port));
    if (!listener) return say(listener.error().text()), kCannotStart;
    loops_.front()->listen(std::move(*listener));
    if (const auto serves = serve_metrics(); !serves) return say(serves.error().text()), kCannotStart;
    // From here on clients are told -LOADING.
    std::vector<std::thread> threads;
    for (const auto& loop : loops_) threads.emplace_back([&loop] { loop->run(); });
    const auto recovered = recover();
    if (!recovered) hub_.stop();
    for (std::thread& thread : threads) thread.join();
    keeper_.reset();
    log_stream_.stop();
    notify_manager("STOPPING=1");
    if (!recovered) return say(recovered.error().text()), kCannotStart;
    if (const auto stopped = log_->stop(); !stopped) fail(stopped.error());
    return 0;
  }

  // MetricsSource.

  std::vector<const ThreadStats*> threads() const override { return hub_.telemetry.threads(); }
  std::optional<LogFigures> log() const override {
    const LogThread* log = serving_.load();
    if (log == nullptr) return std::nullopt;
    return LogFigures{&log->status(), log->incarnation(), &hub_.snapshots, log_stream_.board()};
  }
  Loading loading() const override {
    const Hub::Loading& progress = hub_.loading;
    return {serving_.load() != nullptr, progress.bytes_done.load(), progress.bytes_total.load()};
  }
  bool stopping() const override { return hub_.stopping(); }
  void ask_items() override {
    for (auto& report : reports_) report = nullptr;
    for (const auto& loop : loops_) loop->ask_items();
  }
  std::unique_ptr<ItemsReport> take_items() override {
    bool complete = true;
    for (std::size_t i = 0; i < loops_.size(); ++i) {
      if (auto report = loops_[i]->take_items(); report != nullptr) reports_[i] = std::move(report);
      complete = complete && reports_[i] != nullptr;
    }
    if (!complete) return nullptr;
    auto whole = std::make_unique<ItemsReport>(merge_reports(reports_, hub_.options().metrics_items));
    for (auto& report : reports_) report = nullptr;
    return whole;
  }

 private:
  Result<void> serve_metrics() {
    if (options_.metrics_port == 0) return {};
    auto listener = open_listener(options_.metrics_bind, static_cast<std::uint16_t>(options_.metrics_port), "metrics-");
    if (!listener) return listener.error();
    metrics_ = std::make_unique<MetricsServer>(std::move(*listener), collector_);
    return {};
  }

  /// Replays the log, starts it anew and lets the loop serve.
  Result<void> recover() {
    const auto began = clock_.read().boot;
    auto sinks = SinkRegistry::open(files_, options_.data_dir);
    if (!sinks) return sinks.error();
    auto recovery = LogRecovery::open(files_, clock_, random_, log_settings(*sinks));
    if (!recovery) return recovery.error();
    HOLDFAST_TRY(sinks->attach((*recovery)->identity(), say));
    make_shards((*recovery)->identity().secret);
    ShardedReplay replay(inventories());
    const auto progress = [this](const RecoveryProgress& made) { tell_progress(made); };
    ItemDirectory items;
    SnapshotDirectoryTee snapshot(items, replay);
    const auto restored = (*recovery)->restore(snapshot, progress);
    if (!restored) return restored.error();
    DirectoryTee tee(items, replay.visitor());
    const auto replayed = (*recovery)->replay(tee, progress);
    if (!replayed) return replayed.error();
    if (replay.finish() != replayed->state) {
      return Error::format(ErrorCode::damaged, "{}: the log replays to another state than it says; nothing was changed",
                           options_.data_dir);
    }
    HOLDFAST_TRY(start_log(std::move(*recovery)));
    log_stream_.start(options_, *log_, std::move(items), std::move(*sinks), replayed->last_lsn);
    keep_snapshots(*restored, *replayed);
    for (const auto& shard : shards_) shard->begin();
    hold_returns();
    const auto took = std::chrono::duration_cast<Millis>(clock_.read().boot - began);
    for (std::size_t i = 0; i < loops_.size(); ++i) loops_[i]->serve(*shards_[i], *log_, took);
    hub_.serve();
    serving_.store(log_.get());
    say(fmt::format(
        "ready on {} port {}, data {}{}, fsync {}, shards {}, {}recovered {} records in {} ms", options_.bind,
        options_.port, options_.data_dir, replayed->created ? " (new)" : "", options_.fsync, loops_.size(),
        restored->lsn == Lsn()
            ? std::string()
            : fmt::format("snapshot of LSN {} with {} reservations, ", restored->lsn.value(), restored->totals.rows),
        replayed->records, took.count()));
    notify_manager("READY=1");
    return {};
  }

  /// For INFO, and every few seconds a line for who waits.
  void tell_progress(const RecoveryProgress& progress) {
    if (const auto now = clock_.read().boot; progress_told_.count() == 0 || now - progress_told_ > kProgressEvery) {
      if (progress_told_.count() != 0) {
        say(fmt::format("reading {}: {} of {} MiB", options_.data_dir, progress.bytes_done >> 20,
                        progress.bytes_total >> 20));
      }
      progress_told_ = now;
    }
    hub_.loading.bytes_done.store(progress.bytes_done);
    hub_.loading.bytes_total.store(progress.bytes_total);
  }

  LogSettings log_settings(const SinkRegistry& sinks) {
    LogSettings settings;
    settings.directory = options_.data_dir;
    settings.segment_bytes = options_.segment_bytes;
    settings.fsync = policy_of(options_.fsync);
    settings.require_data = options_.require_data;
    settings.downtime_max = options_.downtime_max;
    settings.notice = say;
    settings.feed = &log_stream_;
    settings.floor = sinks.floor();
    settings.floor_log = sinks.log_id();
    return settings;
  }

  void make_shards(const LogSecret& secret) {
    Shard::Settings settings;
    settings.threads = loops_.size();
    settings.group_bytes = group_bytes_target(options_.segment_bytes);
    settings.inventory.secret = secret;
    settings.inventory.ended_retention = options_.ended_retention;
    settings.inventory.ended_max = options_.ended_max;
    settings.inventory.redis_view_adjusts = options_.redis_view_writes == "adjust";
    settings.inventory.views = options_.views == "on";
    settings.sweeps = options_.sweep == "on";
    for (std::size_t i = 0; i < loops_.size(); ++i) {
      settings.index = ShardIndex(static_cast<std::uint16_t>(i));
      settings.inventory.place = {settings.index, static_cast<std::uint16_t>(loops_.size())};
      shards_.push_back(std::make_unique<Shard>(settings, loops_[i]->telemetry().stats));
    }
  }

  std::vector<Inventory*> inventories() {
    std::vector<Inventory*> all;
    for (const auto& shard : shards_) all.push_back(&shard->inventory());
    return all;
  }

  Result<void> start_log(std::unique_ptr<LogRecovery> recovery) {
    std::vector<StateHash> states;
    for (Inventory* inventory : inventories()) states.push_back(inventory->seal());
    LogThread::Callbacks callbacks;
    callbacks.on_committed = [this](std::span<Group* const> groups) {
      for (Group* group : groups) loops_[group->shard().value()]->on_committed(*group);
    };
    callbacks.on_failure = fail;
    auto log = LogThread::start(files_, clock_, std::move(recovery), std::move(states), std::move(callbacks));
    if (!log) {
      // The first write to the new live segment is a write of the log like any other.
      const ErrorCode code = log.error().code();
      if (code == ErrorCode::io_failed || code == ErrorCode::no_space) fail(log.error());
      return log.error();
    }
    log_ = std::move(*log);
    return {};
  }

  void keep_snapshots(const RestoredSnapshot& restored, const RecoveredLog& replayed) {
    SnapshotKeeper::Settings settings;
    settings.directory = options_.data_dir;
    settings.limits = {std::min(options_.snapshot_log_bytes, options_.log_max_bytes / kSnapshotsPerLog),
                       options_.snapshot_every};
    settings.memory_bytes = options_.fold_memory;
    settings.rules = {options_.log_keep_bytes, options_.log_keep_age, options_.log_max_bytes};
    settings.holds = [this] { return RetentionHolds{{}, log_stream_.sinks_hold(), log_stream_.readers_hold()}; };
    settings.snapshot_hold = [this] { return log_stream_.snapshot_hold(); };
    settings.covered = [this](Lsn older, Lsn newest) { log_stream_.set_covered({older, newest}); };
    settings.say = say;
    keeper_ = std::make_unique<SnapshotKeeper>(files_, clock_, *log_, hub_.snapshots, settings, restored, replayed);
  }

  /// After a stop whose length cannot be believed, units that come back stay out of sale until an operator frees them.
  void hold_returns() {
    RunningClocks clocks = log_->clocks();
    if (!clocks.returns_held()) return;
    const Now now = clocks.now(clock_.read());
    for (Inventory* inventory : inventories()) CHECK(inventory->set_all_returns(true, now).has_value());
    say("the time since the last stop cannot be believed: returns are held until ITEM RETURNS * FREE");
  }

  /// Nothing was or will be acknowledged any more; clients see their connections close.
  [[noreturn]] static void fail(const Error& error) {
    say(error.text());
    std::_Exit(LogThread::kExitStatus);
  }

  const Options& options_;
  PosixFileSystem files_;
  MachineClock clock_;
  MachineRandom random_;
  Hub hub_;
  LogStreamThread log_stream_{hub_, files_, clock_};
  std::vector<std::unique_ptr<Loop>> loops_;
  std::vector<std::unique_ptr<Shard>> shards_;
  std::vector<std::unique_ptr<ItemsReport>> reports_ =
      std::vector<std::unique_ptr<ItemsReport>>(hub_.threads());  // that a scrape waits for; of its thread
  std::chrono::nanoseconds progress_told_{0};
  std::unique_ptr<LogThread> log_;
  std::unique_ptr<SnapshotKeeper> keeper_;
  std::atomic<const LogThread*> serving_{nullptr};  // once the log is replayed
  MetricsCollector collector_{options_.segment_bytes, clock_, *this};
  std::unique_ptr<MetricsServer> metrics_;  // the first to go: it reads all of the above
};

}  // namespace

int run_server(const CommandLine& line) {
  for (const std::string& warning : line.warnings) say(warning);
  return Server(line).run();
}

}  // namespace holdfast
