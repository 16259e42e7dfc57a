#include "storage/log.h"

#include "protocol/check.h"
#include "storage/alarm_board.h"
#include "storage/broken_copy.h"
#include "storage/log_feed.h"
#include "storage/mark_writer.h"
#include "storage/next_segment.h"
#include "storage/recovery_state.h"
#include "storage/segment_writer.h"

namespace holdfast {

using segment_format::kBatchHeaderBytes;
using segment_format::padded_bytes;
using std::chrono::nanoseconds;

class Log::Impl {
 public:
  Impl(std::unique_ptr<LogRecovery::State> from, SegmentPreparer* preparer);

  Result<void> start();
  Result<bool> make_room(std::span<Group* const> groups);
  Result<void> commit(std::span<Group* const> groups, const StateHash& state);
  Result<void> tick();
  Result<void> close();
  nanoseconds due() const noexcept;

  std::unique_ptr<LogRecovery::State> recovered;  // settings and lock; the rest is of the past
  LogStatus status;
  AlarmBoard alarms;
  RunningClocks clocks;
  std::uint64_t incarnation = 0;
  Lsn written;
  Lsn durable;
  std::uint64_t snapshot_bytes = 0;

 private:
  const LogSettings& settings() const noexcept { return recovered->settings; }
  FileSystem& files() const noexcept { return recovered->files; }
  nanoseconds boot() const { return recovered->clock.read().boot; }
  bool relaxed() const noexcept { return settings().fsync != FsyncPolicy::always; }

  static RunningClocks::Start clock_start(const LogRecovery::State& recovered);
  Result<void> begin_segment(std::unique_ptr<LiveSegment> segment, const SegmentEnd& predecessor);
  std::span<std::byte> assemble(std::span<Group* const> groups, std::uint64_t body_bytes);
  Result<void> write_batch(std::span<const std::byte> batch, const BatchHeader& header);
  Result<void> flush();
  Result<void> check_identity(nanoseconds now);
  void write_mark();
  void publish_durable();
  void check_space(nanoseconds now);
  void publish_space();
  void note_flush(nanoseconds began);
  template <class T>
  Result<T> failed(const Error& error);

  InlinePreparer inline_preparer_;
  NextSegment next_;
  MarkWriter mark_;
  std::unique_ptr<LiveSegment> live_;
  StateHash state_;
  AlignedBuffer batch_;
  RetryTimer mark_retry_;
  nanoseconds mark_due_{0};
  nanoseconds identity_due_{0};
  nanoseconds space_due_{0};
  nanoseconds flush_due_ = nanoseconds::max();  // while something is written and not flushed
  bool space_low_ = false;
  bool failed_ = false;
};

namespace {

std::uint64_t body_bytes_of(std::span<Group* const> groups) noexcept {
  std::uint64_t bytes = 0;
  for (const Group* group : groups) bytes += group->bytes().size();
  return bytes;
}

}  // namespace

RunningClocks::Start Log::Impl::clock_start(const LogRecovery::State& recovered) {
  return {recovered.clocks, recovered.clock.read(), recovered.clock.boot_id(), recovered.settings.downtime_max,
          recovered.downtime_open};
}

Log::Impl::Impl(std::unique_ptr<LogRecovery::State> from, SegmentPreparer* preparer)
    : recovered(std::move(from)),
      alarms(status, recovered->settings),
      clocks(clock_start(*recovered)),
      incarnation(recovered->incarnation + 1),
      written(recovered->end.last_lsn),
      durable(recovered->end.last_lsn),
      snapshot_bytes(recovered->restored->bytes),
      inline_preparer_(recovered->files),
      next_(recovered->files, preparer != nullptr ? *preparer : inline_preparer_, recovered->settings, alarms),
      mark_(recovered->files, recovered->settings.directory, recovered->mark ? recovered->mark->counter : 0),
      state_(recovered->state) {}

Result<void> Log::Impl::start() {
  const std::string& directory = settings().directory;
  HOLDFAST_TRY(keep_broken_copy(files(), directory, recovered->end.segment, recovered->tail, recovered->directory));
  const std::string path = segment_path(directory, recovered->end.segment + 1);
  HOLDFAST_TRY(prepare_segment(files(), {directory, path, settings().segment_bytes}));
  auto segment = LiveSegment::open(files(), path, settings().fsync);
  if (!segment) return segment.error();
  const nanoseconds now = boot();
  HOLDFAST_TRY(begin_segment(std::move(*segment), recovered->end));
  status.written_lsn.store(written.value(), std::memory_order_relaxed);
  status.durable_lsn.store(durable.value(), std::memory_order_release);
  if (const auto dropped = recovered->tail.dropped_end - recovered->tail.dropped_begin; dropped > 0) {
    recovered->notice(
        fmt::format("{}: {} bytes behind LSN {} were dropped, nothing of them was acknowledged; {} is a copy",
                    row_name(recovered->tail.row), dropped, written.value(),
                    broken_path(directory, recovered->end.segment, recovered->tail.dropped_begin)));
  }
  if (clocks.returns_held()) {
    const auto hours = std::chrono::duration_cast<std::chrono::hours>(clocks.downtime()).count();
    alarms.raise(LogAlarm::downtime, fmt::format("the log was down for {} h by the machine's clocks: returns are held "
                                                 "until ITEM RETURNS * FREE",
                                                 hours));
  }
  write_mark();
  check_space(now);
  return {};
}

Result<void> Log::Impl::begin_segment(std::unique_ptr<LiveSegment> segment, const SegmentEnd& predecessor) {
  const bool at_start = live_ == nullptr;
  SegmentHeader header;
  header.log = recovered->identity;
  header.number = predecessor.segment + 1;
  header.segment_bytes = segment->bytes();
  header.first_lsn = predecessor.last_lsn.next();
  header.incarnation = incarnation;
  header.clocks = clocks.point(recovered->clock.read());
  header.predecessor = predecessor;
  header.state = state_;
  header.downtime_open = at_start && clocks.returns_held();
  HOLDFAST_TRY(segment->begin(header));
  live_ = std::move(segment);
  status.segment.store(header.number, std::memory_order_relaxed);
  status.segment_used_bytes.store(live_->end().length_bytes, std::memory_order_relaxed);
  identity_due_ = nanoseconds(0);
  return {};
}

/// After this nothing is written or acknowledged any more.
template <class T>
Result<T> Log::Impl::failed(const Error& error) {
  failed_ = true;
  return error;
}

Result<bool> Log::Impl::make_room(std::span<Group* const> groups) {
  CHECK(!failed_);
  const std::uint64_t bytes = padded_bytes(body_bytes_of(groups));
  CHECK(bytes <= kBatchBytesMax);
  if (bytes <= live_->free_bytes()) return true;
  const SegmentEnd end = live_->end();
  next_.advance(end.segment + 1, kBlockBytes + bytes, boot());
  if (!next_.ready(kBlockBytes + bytes)) {
    publish_space();
    return false;
  }
  if (relaxed()) HOLDFAST_TRY(flush());  // the header pins what is durable
  if (auto begun = begin_segment(next_.take(), end); !begun) return failed<bool>(begun.error());
  if (auto same = check_identity(boot()); !same) return same.error();
  return true;
}

Result<void> Log::Impl::commit(std::span<Group* const> groups, const StateHash& state) {
  CHECK(!failed_ && !groups.empty());
  const std::uint64_t body_bytes = body_bytes_of(groups);
  CHECK(padded_bytes(body_bytes) <= live_->free_bytes());
  BatchHeader header;
  header.log_tag = log_tag(recovered->identity.id);
  header.segment = live_->end().segment;
  header.epoch = incarnation;
  header.first_lsn = written.next();
  header.body_bytes = static_cast<std::uint32_t>(body_bytes);
  header.state = state;
  header.durable_lsn = durable;
  header.previous_sum = live_->end().sum;
  Lsn lsn = header.first_lsn;
  for (Group* group : groups) {
    header.count += group->record_count();
    group->place(lsn);
    lsn = Lsn(lsn.value() + group->record_count());
    clocks.raise_stamp(group->wall_max());
  }
  header.clocks = clocks.point(recovered->clock.read());
  const auto batch = assemble(groups, body_bytes);
  seal_batch(batch, header);
  HOLDFAST_TRY(write_batch(batch, header));
  CHECK(written.next() == lsn);
  state_ = state;
  return {};
}

std::span<std::byte> Log::Impl::assemble(std::span<Group* const> groups, std::uint64_t body_bytes) {
  const auto batch = batch_.reserve(padded_bytes(body_bytes)).first(padded_bytes(body_bytes));
  auto at = batch.begin() + kBatchHeaderBytes;
  for (const Group* group : groups) at = std::copy(group->bytes().begin(), group->bytes().end(), at);
  std::fill(at, batch.end(), std::byte{0});
  return batch;
}

Result<void> Log::Impl::write_batch(std::span<const std::byte> batch, const BatchHeader& header) {
  const nanoseconds began = boot();
  status.flush_began_ns.store(began.count(), std::memory_order_relaxed);
  if (auto done = live_->append(batch, header); !done) return failed<void>(done.error());
  note_flush(began);
  written = header.last_lsn();
  status.written_lsn.store(written.value(), std::memory_order_relaxed);
  status.batches.fetch_add(1, std::memory_order_relaxed);
  status.batch_bytes.fetch_add(batch.size(), std::memory_order_relaxed);
  status.batch_records.observe(header.count);
  status.batch_sizes.observe(batch.size());
  status.segment_used_bytes.store(live_->end().length_bytes, std::memory_order_relaxed);
  if (settings().feed != nullptr) settings().feed->on_written(batch, header);
  if (relaxed()) {
    const Millis wait = settings().fsync == FsyncPolicy::everysec ? kFlushEvery : kMarkEvery;
    flush_due_ = std::min(flush_due_, began + wait);
  } else {
    durable = written;
    if (!mark_retry_.waiting(began)) write_mark();
    publish_durable();
  }
  publish_space();
  return {};
}

void Log::Impl::note_flush(nanoseconds began) {
  const nanoseconds took = boot() - began;
  const auto ns = static_cast<std::uint64_t>(std::max<std::int64_t>(took.count(), 0));
  status.flush_began_ns.store(0, std::memory_order_relaxed);
  status.flush_last_ns.store(ns, std::memory_order_relaxed);
  if (ns > status.flush_max_ns.load(std::memory_order_relaxed))
    status.flush_max_ns.store(ns, std::memory_order_relaxed);
  if (ns > status.flush_recent_ns.load(std::memory_order_relaxed))
    status.flush_recent_ns.store(ns, std::memory_order_relaxed);
  status.flush_ns.observe(ns);
  if (took < kSlowFlush) return alarms.clear(LogAlarm::slow_flush);
  status.slow_flushes.fetch_add(1, std::memory_order_relaxed);
  alarms.raise(LogAlarm::slow_flush,
               fmt::format("writing {} took {} ms", live_->path(), std::chrono::duration_cast<Millis>(took).count()));
}

Result<void> Log::Impl::flush() {
  const nanoseconds began = boot();
  status.flush_began_ns.store(began.count(), std::memory_order_relaxed);
  if (auto done = live_->flush(); !done) return failed<void>(done.error());
  note_flush(began);
  flush_due_ = nanoseconds::max();
  if (durable == written) return {};
  durable = written;
  write_mark();
  publish_durable();
  return {};
}

void Log::Impl::publish_durable() {
  status.durable_lsn.store(durable.value(), std::memory_order_release);
  if (settings().feed != nullptr) settings().feed->on_durable(durable);
}

void Log::Impl::write_mark() {
  const ClockReading reading = recovered->clock.read();
  Mark mark;
  mark.log_id = recovered->identity.id;
  mark.durable_lsn = durable;
  mark.incarnation = incarnation;
  mark.clocks = clocks.point(reading);
  mark_due_ = reading.boot + kMarkEvery;
  if (const auto done = mark_.write(mark); !done) {
    mark_retry_.failed(reading.boot);
    mark_due_ = mark_retry_.due();
    alarms.raise(LogAlarm::mark, done.error().text());
    return;
  }
  mark_retry_.succeeded();
  alarms.clear(LogAlarm::mark);
}

Result<void> Log::Impl::tick() {
  CHECK(!failed_);
  const nanoseconds now = boot();
  next_.advance(live_->end().segment + 1, settings().segment_bytes, now);
  if (now >= flush_due_) HOLDFAST_TRY(flush());
  if (now >= mark_due_) write_mark();
  if (now >= identity_due_) HOLDFAST_TRY(check_identity(now));
  if (now >= space_due_) check_space(now);
  publish_space();
  return {};
}

Result<void> Log::Impl::check_identity(nanoseconds now) {
  identity_due_ = now + kIdentityEvery;
  const auto same = live_->still_on_disk();
  if (!same) {
    alarms.raise(LogAlarm::identity_unknown, same.error().text());
    return {};
  }
  alarms.clear(LogAlarm::identity_unknown);
  if (*same) return {};
  return failed<void>(Error::format(ErrorCode::io_failed,
                                    "{} is no longer the file being written: it was removed or "
                                    "replaced under the server",
                                    live_->path()));
}

void Log::Impl::check_space(nanoseconds now) {
  space_due_ = now + kSpaceEvery;
  const auto free = files().free_bytes(settings().directory);
  if (!free) return alarms.raise(LogAlarm::space_unknown, free.error().text());
  alarms.clear(LogAlarm::space_unknown);
  status.free_bytes.store(*free, std::memory_order_relaxed);
  const std::uint64_t needed = 2 * settings().segment_bytes + snapshot_bytes + snapshot_bytes / 5;
  space_low_ = *free < needed;
  if (!space_low_) return alarms.clear(LogAlarm::space_low);
  space_due_ = now + kLowSpaceEvery;
  alarms.raise(LogAlarm::space_low,
               fmt::format("{} has {} bytes free, the log needs {}", settings().directory, *free, needed));
}

void Log::Impl::publish_space() {
  const std::uint64_t used = live_->end().length_bytes;
  status.next_segment_ready.store(next_.ready(0), std::memory_order_relaxed);
  const bool late = !next_.ready(0) && used >= live_->bytes() / 100 * kNextReadyByPercent;
  const auto state = late ? SpaceState::no_next_segment : space_low_ ? SpaceState::low : SpaceState::ok;
  status.space.store(state, std::memory_order_relaxed);
}

nanoseconds Log::Impl::due() const noexcept {
  return std::min({next_.due(), flush_due_, mark_due_, identity_due_, space_due_});
}

Result<void> Log::Impl::close() {
  CHECK(!failed_);
  if (relaxed()) HOLDFAST_TRY(flush());
  write_mark();
  return {};
}

Result<std::unique_ptr<Log>> Log::start(std::unique_ptr<LogRecovery> recovered, SegmentPreparer* preparer) {
  CHECK(recovered != nullptr && recovered->state_->replayed);
  auto impl = std::make_unique<Impl>(std::move(recovered->state_), preparer);
  HOLDFAST_TRY(impl->start());
  return std::unique_ptr<Log>(new Log(std::move(impl)));
}

Log::Log(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Log::~Log() = default;

Result<bool> Log::make_room(std::span<Group* const> groups) { return impl_->make_room(groups); }
Result<void> Log::commit(std::span<Group* const> groups, const StateHash& state) {
  return impl_->commit(groups, state);
}
Result<void> Log::tick() { return impl_->tick(); }
Result<void> Log::close() { return impl_->close(); }
std::chrono::nanoseconds Log::due() const noexcept { return impl_->due(); }
void Log::set_snapshot_bytes(std::uint64_t bytes) noexcept { impl_->snapshot_bytes = bytes; }
std::uint64_t Log::snapshot_bytes() const noexcept { return impl_->snapshot_bytes; }
std::uint64_t Log::take_longest_flush_ns() noexcept {
  return impl_->status.flush_recent_ns.exchange(0, std::memory_order_relaxed);
}
const LogStatus& Log::status() const noexcept { return impl_->status; }
AlarmBoard& Log::alarms() noexcept { return impl_->alarms; }
const LogIdentity& Log::identity() const noexcept { return impl_->recovered->identity; }
const LogSettings& Log::settings() const noexcept { return impl_->recovered->settings; }
std::uint64_t Log::incarnation() const noexcept { return impl_->incarnation; }
Lsn Log::written_lsn() const noexcept { return impl_->written; }
Lsn Log::durable_lsn() const noexcept { return impl_->durable; }
RunningClocks Log::clocks() const noexcept { return impl_->clocks; }

}  // namespace holdfast
