#include "server/log_stream_thread.h"

#include "protocol/check.h"

#include <pthread.h>

namespace holdfast {

LogStreamThread::LogStreamThread(Hub& hub, FileSystem& files, Clock& clock) : hub_(hub), files_(files), clock_(clock) {
  CHECK(poller_.add(waker_.fd(), 0, EPOLLIN));
  for (std::size_t i = 0; i < hub.threads(); ++i) boxes_.push_back(std::make_unique<Box>());
}

LogStreamThread::~LogStreamThread() {
  stopping_.store(true);
  waker_.wake();
  if (thread_.joinable()) thread_.join();
}

void LogStreamThread::start(const std::string& directory, const LogIdentity& log, ItemDirectory items, Lsn durable) {
  CHECK(!stream_);
  durable_.store(std::max(durable_.load(), durable.value()));
  stream_.emplace(log, LogView(LogReader(files_, directory, log.id, recent_), std::move(items), durable), durable);
  thread_ = std::thread([this] { run(); });
}

// Other threads.

void LogStreamThread::ask(StreamRequest request) {
  {
    const std::lock_guard lock(mutex_);
    orders_.emplace_back(std::move(request));
    ordered_.store(true);
  }
  waker_.wake();
}

void LogStreamThread::end(ThreadIndex thread, ConnectionKey connection, WaitEnd how) {
  {
    const std::lock_guard lock(mutex_);
    orders_.emplace_back(Ending{thread, connection, how});
    ordered_.store(true);
  }
  waker_.wake();
}

void LogStreamThread::end_all() {
  ending_.store(true);
  waker_.wake();
}

std::vector<StreamReply> LogStreamThread::take_replies(ThreadIndex thread) {
  Box& box = *boxes_[thread.value()];
  std::vector<StreamReply> taken;
  {
    const std::lock_guard lock(box.mutex);
    taken.swap(box.replies);
    box.full.store(false);
  }
  std::size_t bytes = 0;
  for (const StreamReply& reply : taken) bytes += reply.bytes.size();
  if (reply_bytes_.fetch_sub(bytes) >= kStreamRepliesBytesMax) waker_.wake();
  return taken;
}

void LogStreamThread::on_written(std::span<const std::byte> batch, const BatchHeader& header) {
  recent_.add(batch, header);
  written_bytes_.fetch_add(batch.size());
}

/// The exchange comes before the looks at what this thread waits for: it looks at `durable_` after it has said so.
void LogStreamThread::on_durable(Lsn lsn) {
  durable_.exchange(lsn.value());
  if (lsn.value() >= wake_at_lsn_.load() || written_bytes_.load() >= wake_at_bytes_.load()) waker_.wake();
}

// This thread.

void LogStreamThread::run() {
  pthread_setname_np(pthread_self(), "log-reader");
  while (!stopping_.load()) {
    sleep();
    take_orders();
    work();
  }
}

/// Until there is something to do.
void LogStreamThread::sleep() {
  wake_at_lsn_.store(stream_->awaited().value());
  waker_.sleeps();
  if (!has_work()) {
    const Millis due = stream_->due();
    const Millis wait = due == Millis::max() ? Millis(-1) : std::clamp(due - now(), Millis(0), kIdleSleep);
    if (!poller_.wait(wait).empty()) waker_.drain();
  }
  waker_.wakes();
}

bool LogStreamThread::has_work() const {
  if (ordered_.load() || stopping_.load() || (ending_.load() && stream_->waiting() > 0)) return true;
  if (durable_.load() >= stream_->awaited().value() || written_bytes_.load() >= wake_at_bytes_.load()) return true;
  return !stream_->idle() && reply_bytes_.load() < kStreamRepliesBytesMax;
}

void LogStreamThread::take_orders() {
  std::vector<Order> orders;
  if (ordered_.load()) {
    const std::lock_guard lock(mutex_);
    orders.swap(orders_);
    ordered_.store(false);
  }
  if (ending_.load()) stream_->stop();
  stream_->see(Lsn(durable_.load()), now());
  for (Order& order : orders) {
    if (auto* request = std::get_if<StreamRequest>(&order)) {
      stream_->ask(std::move(*request));
    } else {
      const auto& ending = std::get<Ending>(order);
      stream_->end(ending.thread, ending.connection, ending.how);
    }
  }
}

/// One request, so that what comes meanwhile has its turn; and what was written since the last look.
void LogStreamThread::work() {
  const std::uint64_t written = written_bytes_.load();
  if (written >= wake_at_bytes_.load() || wake_at_bytes_.load() == UINT64_MAX) {
    wake_at_bytes_.store(written + kLearnEveryBytes);
    stream_->learn();
  }
  if (reply_bytes_.load() < kStreamRepliesBytesMax) static_cast<void>(stream_->run_one());
  send_replies();
}

void LogStreamThread::send_replies() {
  for (StreamReply& reply : stream_->take_replies()) {
    const ThreadIndex thread = reply.thread;
    Box& box = *boxes_[thread.value()];
    reply_bytes_.fetch_add(reply.bytes.size());
    {
      const std::lock_guard lock(box.mutex);
      box.replies.push_back(std::move(reply));
      box.full.store(true);
    }
    hub_.waker(thread).wake();
  }
}

}  // namespace holdfast
