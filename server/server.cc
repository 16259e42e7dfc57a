#include "server/server.h"

#include "protocol/check.h"
#include "server/listener.h"
#include "server/loop.h"
#include "server/metrics_server.h"
#include "server/notify.h"
#include "storage/machine_clock.h"
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

class Server final : public MetricsSource {
 public:
  explicit Server(const CommandLine& line)
      : options_(line.options), loop_(line.options, line.users, clock_, make_run_id(random_), say) {}

  int run() {
    loop_.watch_signals(take_signals());
    auto listener = open_listener(options_.bind, static_cast<std::uint16_t>(options_.port));
    if (!listener) return say(listener.error().text()), kCannotStart;
    loop_.listen(std::move(*listener));
    if (const auto serves = serve_metrics(); !serves) return say(serves.error().text()), kCannotStart;
    // From here on clients are told -LOADING.
    std::thread thread([this] { loop_.run(); });
    const auto recovered = recover();
    if (!recovered) loop_.stop();
    thread.join();
    notify_manager("STOPPING=1");
    if (!recovered) return say(recovered.error().text()), kCannotStart;
    if (const auto stopped = log_->stop(); !stopped) fail(stopped.error());
    return 0;
  }

  // MetricsSource.

  std::vector<const ThreadStats*> threads() const override { return {&loop_.telemetry().stats}; }
  std::optional<LogFigures> log() const override {
    const LogThread* log = serving_.load();
    if (log == nullptr) return std::nullopt;
    return LogFigures{&log->status(), log->incarnation()};
  }
  Loading loading() const override {
    const Loop::Loading& progress = loop_.loading_progress();
    return {serving_.load() != nullptr, progress.bytes_done.load(), progress.bytes_total.load()};
  }
  bool stopping() const override { return loop_.stopping(); }
  void ask_items() override { loop_.ask_items(); }
  std::unique_ptr<ItemsReport> take_items() override { return loop_.take_items(); }

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
    auto recovery = LogRecovery::open(files_, clock_, random_, log_settings());
    if (!recovery) return recovery.error();
    make_shard((*recovery)->identity().secret);
    const auto replayed = (*recovery)->replay(shard_->inventory(), [this](const RecoveryProgress& progress) {
      loop_.loading_progress().bytes_done.store(progress.bytes_done);
      loop_.loading_progress().bytes_total.store(progress.bytes_total);
    });
    if (!replayed) return replayed.error();
    const StateHash state = shard_->inventory().seal();
    if (state != replayed->state) {
      return Error::format(ErrorCode::damaged, "{}: the log replays to another state than it says; nothing was changed",
                           options_.data_dir);
    }
    HOLDFAST_TRY(start_log(std::move(*recovery), state));
    shard_->begin();
    hold_returns();
    const auto took = std::chrono::duration_cast<Millis>(clock_.read().boot - began);
    loop_.serve(*shard_, *log_, took);
    serving_.store(log_.get());
    say(fmt::format("ready on {} port {}, data {}{}, fsync {}, shards {} on 1 thread, recovered {} records in {} ms",
                    options_.bind, options_.port, options_.data_dir, replayed->created ? " (new)" : "", options_.fsync,
                    options_.shards, replayed->records, took.count()));
    notify_manager("READY=1");
    return {};
  }

  LogSettings log_settings() const {
    LogSettings settings;
    settings.directory = options_.data_dir;
    settings.segment_bytes = options_.segment_bytes;
    settings.fsync = policy_of(options_.fsync);
    settings.require_data = options_.require_data;
    settings.downtime_max = options_.downtime_max;
    settings.notice = say;
    return settings;
  }

  void make_shard(const LogSecret& secret) {
    Shard::Settings settings;
    settings.group_bytes = group_bytes_target(options_.segment_bytes);
    settings.inventory.secret = secret;
    settings.inventory.ended_retention = options_.ended_retention;
    settings.inventory.ended_max = options_.ended_max;
    settings.inventory.redis_view_adjusts = options_.redis_view_writes == "adjust";
    settings.sweeps = options_.sweep == "on";
    shard_ = std::make_unique<Shard>(settings, loop_.telemetry().stats);
  }

  Result<void> start_log(std::unique_ptr<LogRecovery> recovery, const StateHash& state) {
    LogThread::Callbacks callbacks;
    callbacks.on_committed = [this](std::span<Group* const> groups) { loop_.on_committed(groups); };
    callbacks.on_failure = fail;
    auto log = LogThread::start(files_, clock_, std::move(recovery), {state}, std::move(callbacks));
    if (!log) {
      // The first write to the new live segment is a write of the log like any other.
      const ErrorCode code = log.error().code();
      if (code == ErrorCode::io_failed || code == ErrorCode::no_space) fail(log.error());
      return log.error();
    }
    log_ = std::move(*log);
    return {};
  }

  /// After a stop whose length cannot be believed, units that come back stay out of sale until an operator frees them.
  void hold_returns() {
    RunningClocks clocks = log_->clocks();
    if (!clocks.returns_held()) return;
    const auto held = shard_->inventory().set_all_returns(true, clocks.now(clock_.read()));
    CHECK(held.has_value());
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
  Loop loop_;
  std::unique_ptr<Shard> shard_;
  std::unique_ptr<LogThread> log_;
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
