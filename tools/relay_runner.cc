#include "tools/relay_runner.h"

#include "replication/limits.h"

#include <fmt/format.h>
#include <pthread.h>

#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <random>
#include <thread>

namespace holdfast {
namespace {

Millis steady_now() { return std::chrono::duration_cast<Millis>(std::chrono::steady_clock::now().time_since_epoch()); }

/// One line to stderr; the service manager adds the time.
void say(const std::string& sink, const std::string& text) {
  fmt::print(stderr, "holdfast-relay: sink {}: {}\n", sink, text);
}

}  // namespace

class RelayRunner::Worker {
 public:
  Worker(RelaySink sink, void (*on_end)())
      : sink_(std::move(sink)),
        on_end_(on_end),
        feed_(sink_.name, *sink_.sink, *sink_.source, std::random_device()()) {}

  void start() {
    thread_ = std::thread([this] { run(); });
    pthread_setname_np(thread_.native_handle(), "sink");
  }

  ~Worker() {
    tell_to_end();
    if (thread_.joinable()) thread_.join();
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  void tell_to_end() {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    wake_.notify_all();
  }

  /// Waits for the end; cuts source and sink off when that takes longer. REQUIRES: told to end.
  void end_by(std::chrono::steady_clock::time_point deadline) {
    std::unique_lock lock(mutex_);
    if (!thread_.joinable() || wake_.wait_until(lock, deadline, [this] { return ended_; })) return;
    say(sink_.name,
        "still waits for its server, or to write, and is cut off; the next relay finds out what came of its last "
        "batch");
    sink_.source->interrupt();
    sink_.sink->interrupt();
  }

  NamedStatus status() const {
    const std::lock_guard lock(mutex_);
    return {sink_.name, published_};
  }

 private:
  void run() {
    std::unique_lock lock(mutex_);
    while (!ending_ && !feed_.over()) {
      lock.unlock();
      const Millis pause = feed_.step(steady_now());
      tell_changes();
      lock.lock();
      published_ = feed_.status();
      if (pause > Millis(0)) wake_.wait_for(lock, pause, [this] { return ending_; });
    }
    ended_ = true;
    wake_.notify_all();
    lock.unlock();
    if (feed_.over()) on_end_();
  }

  void tell_changes() {
    const FeedStatus& now = feed_.status();
    if (now.state != said_state_ && now.state == FeedState::running) {
      say(sink_.name, fmt::format("running under epoch {}, at LSN {} of log {}", now.cursor.epoch.value(),
                                  now.cursor.lsn.value(), log_id_text(now.cursor.log)));
    }
    if (!now.error.empty() && (now.error != said_error_ || now.state != said_state_)) {
      say(sink_.name, fmt::format("{}: {}", feed_state_name(now.state), now.error));
    }
    if (now.unacknowledged > 0 && said_unacknowledged_ == 0) {
      say(sink_.name, "the server does not take acknowledgements; it keeps its log, and the sink goes on");
    }
    for (const std::string& alarm : feed_.take_alarms()) say(sink_.name, "ALARM: " + alarm);
    said_state_ = now.state;
    said_error_ = now.error;
    said_unacknowledged_ = now.unacknowledged;
  }

  RelaySink sink_;
  void (*on_end_)();
  SinkFeed feed_;
  FeedState said_state_ = FeedState::starting;
  std::string said_error_;
  std::uint64_t said_unacknowledged_ = 0;
  mutable std::mutex mutex_;  // of the members below
  std::condition_variable wake_;
  bool ending_ = false;
  bool ended_ = false;
  FeedStatus published_;
  std::thread thread_;
};

RelayRunner::RelayRunner(std::vector<RelaySink> sinks, void (*on_end)()) {
  for (RelaySink& sink : sinks) workers_.push_back(std::make_unique<Worker>(std::move(sink), on_end));
}

void RelayRunner::start() {
  for (const auto& worker : workers_) worker->start();
}

RelayRunner::~RelayRunner() {
  for (const auto& worker : workers_) worker->tell_to_end();
  const auto deadline = std::chrono::steady_clock::now() + kEndTime;
  for (const auto& worker : workers_) worker->end_by(deadline);
}

std::vector<NamedStatus> RelayRunner::statuses() const {
  std::vector<NamedStatus> all;
  for (const auto& worker : workers_) all.push_back(worker->status());
  return all;
}

}  // namespace holdfast
