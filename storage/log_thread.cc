#include "storage/log_thread.h"

#include "protocol/check.h"
#include "storage/alarm_board.h"
#include "storage/segment_preparer.h"

#include <pthread.h>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace holdfast {
namespace {

using std::chrono::nanoseconds;

/// Prepares segments on a thread of its own, one at a time. Its files are its own: it closes what it opens.
class ThreadedPreparer final : public SegmentPreparer {
 public:
  /// `on_done` wakes the log's thread.
  ThreadedPreparer(FileSystem& files, std::function<void()> on_done)
      : files_(files), on_done_(std::move(on_done)), thread_([this] { run(); }) {}

  ~ThreadedPreparer() override {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  void start(const SegmentRequest& request) override {
    {
      const std::lock_guard lock(mutex_);
      CHECK(!request_ && !outcome_);
      request_ = request;
    }
    changed_.notify_all();
  }

  std::optional<Result<void>> poll() override {
    const std::lock_guard lock(mutex_);
    return std::exchange(outcome_, std::nullopt);
  }

 private:
  void run() {
    pthread_setname_np(pthread_self(), "log-segments");
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return stopping_ || request_; });
      if (stopping_) return;
      const SegmentRequest request = *request_;
      lock.unlock();
      const auto outcome = prepare_segment(files_, request);
      lock.lock();
      request_.reset();
      outcome_ = outcome;
      lock.unlock();
      on_done_();
      lock.lock();
    }
  }

  FileSystem& files_;
  std::function<void()> on_done_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<SegmentRequest> request_;
  std::optional<Result<void>> outcome_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace

class LogThread::Impl {
 public:
  Impl(FileSystem& files, Clock& clock, std::vector<StateHash> shard_states, Callbacks callbacks)
      : clock_(clock),
        callbacks_(std::move(callbacks)),
        shard_states_(std::move(shard_states)),
        preparer_(files, [this] { wake(); }) {
    for (const StateHash& state : shard_states_) state_ += state;
  }
  ~Impl() { (void)stop(); }

  Result<void> start(std::unique_ptr<LogRecovery> recovered);
  void submit(std::span<Group* const> groups);
  Result<void> stop();

  std::unique_ptr<Log> log;
  std::optional<RunningClocks> clocks;  // as they were at start: the log thread's own copy moves on
  std::atomic<std::uint64_t> snapshot_bytes{0};

 private:
  void run();
  Result<bool> turn();
  void fill_batch();
  bool take_submitted();
  Result<void> commit_batch();
  Result<void> wait_for_room();
  void wake();

  Clock& clock_;
  Callbacks callbacks_;
  std::vector<StateHash> shard_states_;
  StateHash state_;  // their sum

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Group*> submitted_;  // guarded by mutex_
  bool woken_ = false;             // guarded by mutex_
  bool stopping_ = false;          // guarded by mutex_

  // The log thread's.
  std::vector<Group*> waiting_;  // in order; the first batch_size_ of them are the next batch
  std::size_t batch_size_ = 0;
  bool ending_ = false;
  Result<void> outcome_;

  ThreadedPreparer preparer_;
  std::thread thread_;
};

Result<void> LogThread::Impl::start(std::unique_ptr<LogRecovery> recovered) {
  auto started = Log::start(std::move(recovered), &preparer_);
  if (!started) return started.error();
  log = std::move(*started);
  clocks = log->clocks();
  snapshot_bytes = log->snapshot_bytes();
  thread_ = std::thread([this] { run(); });
  return {};
}

void LogThread::Impl::submit(std::span<Group* const> groups) {
  {
    const std::lock_guard lock(mutex_);
    for (Group* group : groups) {
      CHECK(group->sealed() && !group->empty() && group->shard().value() < shard_states_.size());
      submitted_.push_back(group);
    }
  }
  changed_.notify_one();
}

void LogThread::Impl::wake() {
  {
    const std::lock_guard lock(mutex_);
    woken_ = true;
  }
  changed_.notify_one();
}

void LogThread::Impl::run() {
  pthread_setname_np(pthread_self(), "log");
  for (;;) {
    const auto done = turn();
    if (!done) {
      outcome_ = done.error();
      callbacks_.on_failure(done.error());
      return;
    }
    if (*done) return;
  }
}

/// One batch, or one look at the timers. True when the thread has nothing more to do for ever.
Result<bool> LogThread::Impl::turn() {
  const bool woken = take_submitted();
  log->set_snapshot_bytes(snapshot_bytes.load(std::memory_order_relaxed));
  if (!waiting_.empty()) {
    fill_batch();
    const auto room = log->make_room({waiting_.data(), batch_size_});
    if (!room) return room.error();
    if (*room) HOLDFAST_TRY(commit_batch());
    if (!*room) HOLDFAST_TRY(wait_for_room());
  }
  if (woken || log->due() <= clock_.read().boot) HOLDFAST_TRY(log->tick());
  if (!ending_ || !waiting_.empty()) return false;
  HOLDFAST_TRY(log->close());
  return true;
}

/// Takes what was submitted; sleeps first when there is nothing to do, until there is, a timer is due or the end has
/// come. True when the preparer woke it.
bool LogThread::Impl::take_submitted() {
  std::unique_lock lock(mutex_);
  const auto something = [this] { return !submitted_.empty() || woken_ || stopping_; };
  if (waiting_.empty() && !something()) {
    const nanoseconds wait = log->due() - clock_.read().boot;
    if (wait.count() > 0) changed_.wait_for(lock, std::min<nanoseconds>(wait, kMarkEvery), something);
  }
  ending_ = stopping_ && submitted_.empty();
  waiting_.insert(waiting_.end(), submitted_.begin(), submitted_.end());
  submitted_.clear();
  return std::exchange(woken_, false);
}

Result<void> LogThread::Impl::commit_batch() {
  const std::span<Group* const> batch(waiting_.data(), batch_size_);
  for (const Group* group : batch) {
    StateHash& shard = shard_states_[group->shard().value()];
    state_ -= shard;
    shard = group->state();
    state_ += shard;
  }
  HOLDFAST_TRY(log->commit(batch, state_));
  callbacks_.on_committed(batch);
  waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(batch_size_));
  batch_size_ = 0;
  return {};
}

/// No next segment yet: sleeps until the preparer has news or may try again. An orderly stop does not wait for a disk
/// that has no room.
Result<void> LogThread::Impl::wait_for_room() {
  if (ending_ && log->status().has(LogAlarm::next_segment)) {
    return Error(ErrorCode::no_space, "the log could not be finished: its next segment could not be made");
  }
  std::unique_lock lock(mutex_);
  const auto wait = std::clamp<nanoseconds>(log->due() - clock_.read().boot, Millis(1), kRetryFirst);
  changed_.wait_for(lock, wait, [this] { return woken_ || (stopping_ && !ending_); });
  return {};
}

/// As many groups as fit the batch's target, at least one. A batch once chosen is not chosen anew.
void LogThread::Impl::fill_batch() {
  if (batch_size_ > 0) return;
  const std::uint64_t target = batch_bytes_target(log->settings().segment_bytes);
  std::uint64_t bytes = 0;
  for (const Group* group : waiting_) {
    bytes += group->bytes().size();
    if (batch_size_ > 0 && bytes > target) break;
    ++batch_size_;
  }
}

Result<void> LogThread::Impl::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
  return outcome_;
}

Result<std::unique_ptr<LogThread>> LogThread::start(FileSystem& files, Clock& clock,
                                                    std::unique_ptr<LogRecovery> recovered,
                                                    std::vector<StateHash> shard_states, Callbacks callbacks) {
  CHECK(callbacks.on_committed && callbacks.on_failure && !shard_states.empty());
  auto impl = std::make_unique<Impl>(files, clock, std::move(shard_states), std::move(callbacks));
  HOLDFAST_TRY(impl->start(std::move(recovered)));
  return std::unique_ptr<LogThread>(new LogThread(std::move(impl)));
}

LogThread::LogThread(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
LogThread::~LogThread() = default;

void LogThread::submit(Group& group) {
  Group* const one = &group;
  impl_->submit({&one, 1});
}
void LogThread::submit(std::span<Group* const> groups) { impl_->submit(groups); }
Result<void> LogThread::stop() { return impl_->stop(); }
std::uint64_t LogThread::take_longest_flush_ns() noexcept { return impl_->log->take_longest_flush_ns(); }
const LogStatus& LogThread::status() const noexcept { return impl_->log->status(); }
const LogIdentity& LogThread::identity() const noexcept { return impl_->log->identity(); }
void LogThread::raise(LogAlarm alarm, std::string_view why) { impl_->log->alarms().raise(alarm, why); }
void LogThread::clear(LogAlarm alarm) { impl_->log->alarms().clear(alarm); }
RunningClocks LogThread::clocks() const noexcept { return *impl_->clocks; }
std::uint64_t LogThread::incarnation() const noexcept { return impl_->log->incarnation(); }
void LogThread::set_snapshot_bytes(std::uint64_t bytes) noexcept {
  impl_->snapshot_bytes.store(bytes, std::memory_order_relaxed);
}

}  // namespace holdfast
