#include "server/log_stream.h"

#include "protocol/check.h"
#include "server/client_waits.h"

#include <fmt/format.h>

#include <algorithm>

namespace holdfast {

LogStream::LogStream(const Settings& settings, LogView view, SnapshotFiles snapshots, SinkRegistry sinks,
                     const Moment& now)
    : settings_(settings), view_(std::move(view)), snapshots_(std::move(snapshots)), sinks_(std::move(sinks)) {
  see(now);
  make_board();
}

void LogStream::ask(StreamRequest request) {
  auto job = std::make_unique<Job>();
  job->request = std::move(request);
  job->words.assign(job->request.words.begin(), job->request.words.end());
  job->arrival = ++arrivals_;
  ready_.push_back(std::move(job));
}

void LogStream::see(const Moment& now) {
  CHECK(now.durable >= durable_ && now.boot >= now_);
  durable_ = now.durable;
  now_ = now.boot;
  wall_ = now.wall;
  live_bytes_ = now.live_bytes;
  covered_ = now.covered;
  static_cast<void>(sinks_.retry(boot()));
  while (awaited() <= durable_) ready_.push_back(unpark(by_lsn_.begin()->second));
  while (!by_time_.empty() && by_time_.begin()->first <= now_) {
    ready_.push_back(unpark(by_time_.begin()->second));
    ready_.back()->over = true;
  }
}

void LogStream::end(ThreadIndex thread, ConnectionKey connection, WaitEnd how) {
  const auto is_its = [&](const std::unique_ptr<Job>& job) {
    return job->request.thread == thread && job->request.address.connection == connection;
  };
  if (const auto found = by_connection_.find(key_of(thread, connection)); found != by_connection_.end()) {
    if (!is_its(waiting_.at(found->second))) return;
    auto job = unpark(found->second);
    if (how == WaitEnd::fail) return answer(*job, std::string(kUnblocked));
    job->over = true;
    if (how == WaitEnd::answer) ready_.push_back(std::move(job));
    return;
  }
  const auto ready = std::find_if(ready_.begin(), ready_.end(), is_its);
  if (ready == ready_.end()) return;
  if (how == WaitEnd::forget) {
    ready_.erase(ready);
  } else {
    (*ready)->over = true;
  }
}

void LogStream::stop() {
  stopped_ = true;
  while (!waiting_.empty()) {
    ready_.push_back(unpark(waiting_.begin()->first));
    ready_.back()->over = true;
  }
}

bool LogStream::run_one() {
  if (ready_.empty()) return false;
  auto job = std::move(ready_.front());
  ready_.pop_front();
  std::string bytes;
  const Answer done = work(*job, bytes);
  job->began = true;
  if (done && *done != Done::answered) {
    *done == Done::waits ? park(std::move(job)) : ready_.push_back(std::move(job));
    return true;
  }
  // Segments may go while they are looked for: then the log begins later than it did.
  if (!done && done.error().code() == ErrorCode::not_found && !std::exchange(job->retried, true)) {
    ready_.push_front(std::move(job));
    return true;
  }
  if (!done) {
    bytes.clear();
    ReplyWriter(bytes, job->request.version).error(done.error());
  }
  answer(*job, std::move(bytes));
  return true;
}

/// Rounded up: what is due then is due.
Millis LogStream::due() const noexcept {
  const Millis wait = std::min(by_time_.empty() ? Millis::max() : by_time_.begin()->first, snapshots_.due());
  const auto retry = sinks_.retry_due();
  if (retry == std::chrono::nanoseconds::max()) return wait;
  return std::min(wait, std::chrono::ceil<Millis>(retry));
}

void LogStream::answer(const Job& job, std::string bytes) {
  replies_.push_back({job.request.thread, job.request.address, std::move(bytes)});
}

bool LogStream::wait(Job& job, Lsn lsn, std::optional<Millis> block) {
  if (!block || job.over || stopped_) return false;
  if (!job.began) job.until = now_ + *block;
  if (job.until <= now_) return false;
  job.awaited = lsn;
  return true;
}

void LogStream::park(std::unique_ptr<Job> job) {
  const std::uint64_t arrival = job->arrival;
  by_lsn_.emplace(job->awaited, arrival);
  by_time_.emplace(job->until, arrival);
  by_connection_[key_of(job->request.thread, job->request.address.connection)] = arrival;
  waiting_.emplace(arrival, std::move(job));
}

std::unique_ptr<LogStream::Job> LogStream::unpark(std::uint64_t arrival) {
  const auto found = waiting_.find(arrival);
  CHECK(found != waiting_.end());
  auto job = std::move(found->second);
  waiting_.erase(found);
  by_lsn_.erase({job->awaited, arrival});
  by_time_.erase({job->until, arrival});
  by_connection_.erase(key_of(job->request.thread, job->request.address.connection));
  return job;
}

LogStream::Answer LogStream::work(Job& job, std::string& out) {
  switch (job.request.entry->id) {
    case CommandId::log_read:
      return log_read(job, out);
    case CommandId::log_snapshot:
      return log_snapshot(job, out);
    case CommandId::log_ack:
      return log_ack(job, out);
    case CommandId::log_sinks:
      return log_sinks(job, out);
    case CommandId::xread:
      return xread(job, out);
    case CommandId::xrange:
      return xrange(job, out);
    case CommandId::xlen:
      return xlen(job, out);
    case CommandId::xinfo_stream:
      return xinfo(job, out);
    default:
      CHECK(false);
  }
}

LogStream::Answer LogStream::log_read(Job& job, std::string& out) {
  const auto request = parse_log_read(job.words);
  if (!request) return request.error();
  const auto oldest = view_.reader().oldest();
  if (!oldest) return oldest.error();
  if (request->from < *oldest) {
    return Error::format(ErrorCode::log_gone, "LSN {} is gone: the oldest record that is kept is {}",
                         request->from.value(), oldest->value());
  }
  if (request->from > durable_.next()) {
    return Error::format(ErrorCode::log_ahead, "LSN {} is ahead: the log is durable up to {}", request->from.value(),
                         durable_.value());
  }
  if (request->from > durable_ && wait(job, request->from, request->block)) return Done::waits;
  std::string batches;
  HOLDFAST_TRY(view_.copy(request->from, durable_, request->bytes_max, batches));
  ReplyWriter reply(out, job.request.version);
  reply.array(4);
  reply.bulk(log_id_text(log_.id));
  reply.integer(static_cast<std::int64_t>(oldest->value()));
  reply.integer(static_cast<std::int64_t>(durable_.value()));
  reply.bulk(batches);
  return Done::answered;
}

LogStream::Answer LogStream::log_snapshot(Job& job, std::string& out) {
  const auto request = parse_log_snapshot(job.words);
  if (!request) return request.error();
  const auto part = snapshots_.read(request->lsn, request->offset, request->bytes_max, now_);
  if (!part) return part.error();
  ReplyWriter reply(out, job.request.version);
  reply.array(4);
  reply.bulk(log_id_text(log_.id));
  reply.integer(static_cast<std::int64_t>(part->lsn.value()));
  reply.integer(static_cast<std::int64_t>(part->total_bytes));
  reply.bulk(part->bytes);
  return Done::answered;
}

Lsn LogStream::readers_hold() { return std::min(view_.learned(), snapshot_hold().value_or(view_.learned())); }

}  // namespace holdfast
