#include "server/log_stream_thread.h"

#include "protocol/check.h"
#include "server/options.h"

#include <fmt/format.h>

#include <pthread.h>

namespace holdfast {

LogStreamThread::LogStreamThread(Hub& hub, FileSystem& files, Clock& clock) : hub_(hub), files_(files), clock_(clock) {
  CHECK(poller_.add(waker_.fd(), 0, EPOLLIN));
  for (std::size_t i = 0; i < hub.threads(); ++i) boxes_.push_back(std::make_unique<Box>());
}

LogStreamThread::~LogStreamThread() { stop(); }

void LogStreamThread::stop() {
  stopping_.store(true);
  waker_.wake();
  if (thread_.joinable()) thread_.join();
}

void LogStreamThread::start(const Options& options, LogThread& log, ItemDirectory items, SinkRegistry sinks,
                            Lsn durable) {
  CHECK(!stream_);
  durable_.store(std::max(durable_.load(), durable.value()));
  log_ = &log;
  look_every_bytes_ = std::min<std::uint64_t>(kLearnEveryBytes, options.log_max_bytes / kLooksPerLog);
  LogReader reader(files_, options.data_dir, log.identity().id, recent_);
  stream_.emplace(LogStream::Settings{log.identity(), options.log_max_bytes},
                  LogView(std::move(reader), std::move(items), durable), SnapshotFiles(files_, options.data_dir),
                  std::move(sinks), moment());
  look();
  tell_holds();
  send_mail();
  thread_ = std::thread([this] { run(); });
}

// Other threads.

void LogStreamThread::ask(StreamRequest request) {
  request.newest = Lsn(durable_.load());
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

LogStreamThread::Mail LogStreamThread::take_mail(ThreadIndex thread) {
  Box& box = *boxes_[thread.value()];
  Mail taken;
  {
    const std::lock_guard lock(box.mutex);
    taken = std::exchange(box.mail, {});
    box.full.store(false);
  }
  std::size_t bytes = 0;
  for (const StreamReply& reply : taken.replies) bytes += reply.bytes.size();
  if (reply_bytes_.fetch_sub(bytes) >= kStreamRepliesBytesMax) waker_.wake();
  return taken;
}

std::shared_ptr<const SinkBoard> LogStreamThread::board() const {
  const std::lock_guard lock(board_mutex_);
  return board_;
}

std::optional<Lsn> LogStreamThread::readers_hold() noexcept {
  if (readers_hold_.load() < durable_.load()) {
    looking_.store(true);
    waker_.wake();
  }
  return hold_of(readers_hold_);
}

void LogStreamThread::set_covered(const LogStream::Covered& covered) noexcept {
  const std::uint64_t newest = covered.newest.value(), older = covered.older.value();
  const bool same = newest_snapshot_.exchange(newest) == newest;
  if (older_snapshot_.exchange(older) == older && same) return;
  looking_.store(true);
  waker_.wake();
}

void LogStreamThread::on_written(std::span<const std::byte> batch, const BatchHeader& header) {
  recent_.add(batch, header);
  if (live_segment_.exchange(header.segment) != header.segment) live_bytes_.store(kBlockBytes);
  live_bytes_.fetch_add(batch.size());
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
    const Millis wait = due == Millis::max() ? Millis(-1) : std::clamp(due - moment().boot, Millis(0), kIdleSleep);
    if (!poller_.wait(wait).empty()) waker_.drain();
  }
  waker_.wakes();
}

bool LogStreamThread::has_work() const {
  if (ordered_.load() || looking_.load() || stopping_.load() || (ending_.load() && stream_->waiting() > 0)) return true;
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
  stream_->see(moment());
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
  if (looking_.exchange(false) || written_bytes_.load() >= wake_at_bytes_.load()) look();
  if (reply_bytes_.load() < kStreamRepliesBytesMax) static_cast<void>(stream_->run_one());
  tell_holds();  // before who asked for a snapshot may believe that it stays
  send_mail();
  tell_alarms();
}

void LogStreamThread::tell_holds() {
  readers_hold_.store(stream_->readers_hold().value());
  snapshot_hold_.store(stream_->snapshot_hold().value_or(Lsn(kNoHold)).value());
}

void LogStreamThread::look() {
  wake_at_bytes_.store(written_bytes_.load() + look_every_bytes_);
  stream_->look();
  if (stream_->board().held_bytes >= stream_->board().held_bytes_max / kSnapshotsPerLog) hub_.snapshots.look();
}

void LogStreamThread::send_mail() {
  if (const auto board = stream_->take_board()) send_board(board);
  for (StreamReply& reply : stream_->take_replies()) {
    const ThreadIndex thread = reply.thread;
    Box& box = *boxes_[thread.value()];
    reply_bytes_.fetch_add(reply.bytes.size());
    {
      const std::lock_guard lock(box.mutex);
      box.mail.replies.push_back(std::move(reply));
      box.full.store(true);
    }
    hub_.waker(thread).wake();
  }
}

void LogStreamThread::send_board(const std::shared_ptr<const SinkBoard>& board) {
  sinks_hold_.store(stream_->sinks_hold().value_or(Lsn(kNoHold)).value());
  boards_.push_back(board);
  {
    const std::lock_guard lock(board_mutex_);
    board_ = board;
  }
  for (std::size_t i = 0; i < boxes_.size(); ++i) {
    {
      const std::lock_guard lock(boxes_[i]->mutex);
      boxes_[i]->mail.board = board;
      boxes_[i]->full.store(true);
    }
    hub_.waker(ThreadIndex(static_cast<std::uint16_t>(i))).wake();
  }
  std::erase_if(boards_, [](const auto& each) { return each.use_count() == 1; });
}

void LogStreamThread::tell_alarms() {
  const bool failed = !stream_->sinks_failure().empty();
  if (failed != std::exchange(sinks_failed_, failed)) {
    failed ? log_->raise(LogAlarm::sinks, stream_->sinks_failure()) : log_->clear(LogAlarm::sinks);
  }
  const SinkBoard& board = stream_->board();
  const RetentionLevel level = retention_level(board.held_bytes, board.held_bytes_max);
  if (level == std::exchange(told_, level)) return;
  if (level == RetentionLevel::ok) return log_->clear(LogAlarm::retention);
  log_->raise(LogAlarm::retention,
              fmt::format("{} and keeps {} bytes of the log; new reservations are refused from log-max-bytes on, {}",
                          board.holder, board.held_bytes, board.held_bytes_max));
}

LogStream::Moment LogStreamThread::moment() const {
  const ClockReading reading = clock_.read();
  LogStream::Moment now{Lsn(durable_.load()),
                        std::chrono::duration_cast<Millis>(reading.boot),
                        WallTime(std::chrono::duration_cast<Millis>(reading.wall)),
                        live_bytes_.load(),
                        {}};
  if (const auto older = hold_of(older_snapshot_)) now.covered = {*older, Lsn(newest_snapshot_.load())};
  return now;
}

}  // namespace holdfast
