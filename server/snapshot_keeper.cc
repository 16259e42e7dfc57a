#include "server/snapshot_keeper.h"

#include "server/fold_process.h"
#include "server/process_figures.h"
#include "storage/log_cleaner.h"

#include <fmt/format.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <thread>

namespace holdfast {
namespace {

using std::chrono::nanoseconds;

/// How often it looks whether the log has grown enough, and whether something may go: ten times in the life of a
/// snapshot, but no more often, and no less, than these.
constexpr Millis kLookMin{100};
constexpr Millis kLookMax{2000};
constexpr std::uint64_t kSpareMemory = 256_MiB;

}  // namespace

class SnapshotKeeper::Impl {
 public:
  Impl(FileSystem& files, Clock& clock, LogThread& log, SnapshotBoard& board, const Settings& settings,
       const RestoredSnapshot& restored, const RecoveredLog& replayed)
      : clock_(clock),
        log_(log),
        board_(board),
        settings_(settings),
        damaged_(restored.damaged),
        schedule_(settings.limits, restored.lsn, replayed.bytes, clock.read().boot),
        cleaner_(files, settings.directory),
        stop_(eventfd(0, EFD_CLOEXEC)) {
    board_.lsn.store(restored.lsn.value(), std::memory_order_relaxed);
    board_.bytes.store(restored.bytes, std::memory_order_relaxed);
    thread_ = std::thread([this] { run(); });
  }

  ~Impl() {
    stopping_.store(true);
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto told = ::write(stop_.get(), &one, sizeof one);
    board_.stop();
    thread_.join();
  }

 private:
  void run();
  SnapshotSchedule::Moment moment() const;
  bool pressed() const;
  Result<void> tidy();
  Result<void> clean();
  Lsn removable() const;
  void make(const SnapshotSchedule::Moment& begun);
  Result<FoldProcess::Usage> fold(Lsn through, bool hurries);
  Result<void> report(const SnapshotSchedule::Moment& begun, const FoldProcess::Usage& usage);
  void fail(std::string_view what);
  void trouble(const Result<void>& done);

  Clock& clock_;
  LogThread& log_;
  SnapshotBoard& board_;
  const Settings settings_;
  std::vector<Lsn> damaged_;
  SnapshotSchedule schedule_;
  LogCleaner cleaner_;
  FileDescriptor stop_;
  std::atomic<bool> stopping_{false};
  bool troubled_ = false;
  std::thread thread_;
};

void SnapshotKeeper::Impl::run() {
  name_thread("snapshots");
  trouble(tidy());
  while (!stopping_.load()) {
    if (board_.wait(std::clamp(settings_.limits.age / 10, kLookMin, kLookMax))) schedule_.ask();
    if (stopping_.load()) return;
    const auto now = moment();
    if (schedule_.settled(now)) schedule_.forget();
    if (schedule_.due(now)) make(now);
    trouble(clean());
  }
}

SnapshotSchedule::Moment SnapshotKeeper::Impl::moment() const {
  const LogStatus& status = log_.status();
  return {clock_.read().boot, Lsn(status.durable_lsn.load(std::memory_order_acquire)),
          status.batch_bytes.load(std::memory_order_relaxed), pressed()};
}

/// As of the last look at the files.
bool SnapshotKeeper::Impl::pressed() const {
  std::uint64_t bytes = 0;
  for (const SegmentFacts& segment : cleaner_.segments()) {
    if (!segment.sealed || segment.last > cleaner_.covered()) bytes += segment.file_bytes;
  }
  return retention_level(bytes, settings_.rules.bytes_max) != RetentionLevel::ok;
}

/// Once: what earlier processes left behind.
Result<void> SnapshotKeeper::Impl::tidy() {
  HOLDFAST_TRY(cleaner_.look());
  HOLDFAST_TRY(cleaner_.remove_leftovers());
  for (const Lsn snapshot : damaged_) HOLDFAST_TRY(cleaner_.put_aside(snapshot));
  return clean();
}

Result<void> SnapshotKeeper::Impl::clean() {
  HOLDFAST_TRY(cleaner_.look());
  HOLDFAST_TRY(cleaner_.remove_snapshots(settings_.snapshot_hold().value_or(Lsn())));
  settings_.covered(cleaner_.covered(), cleaner_.snapshots().empty() ? Lsn() : cleaner_.snapshots().back());
  const auto removed = cleaner_.remove_segments(removable());
  if (!removed) return removed.error();
  board_.removed_segments.fetch_add(*removed, std::memory_order_relaxed);
  return {};
}

/// The last LSN of what nobody needs any more, by what there is now.
Lsn SnapshotKeeper::Impl::removable() const {
  std::vector<KeptSegment> segments;
  for (const SegmentFacts& segment : cleaner_.segments()) {
    const auto sealed = std::chrono::duration_cast<Millis>(segment.sealed_hold);
    segments.push_back({segment.number, segment.first, segment.last, segment.file_bytes, HoldTime(sealed)});
  }
  RetentionHolds holds = settings_.holds();
  if (cleaner_.covered() > Lsn()) holds.older_snapshot = cleaner_.covered();
  const auto now = std::chrono::duration_cast<Millis>(log_.clocks().hold(clock_.read()));
  const std::size_t count = removable_segments(segments, holds, settings_.rules, HoldTime(now));
  return count == 0 ? Lsn() : segments[count - 1].last_lsn;
}

/// Says what keeps it from removing things, once.
void SnapshotKeeper::Impl::trouble(const Result<void>& done) {
  if (!done && !troubled_) settings_.say(fmt::format("old files of the log stay: {}", done.error().text()));
  troubled_ = !done;
}

void SnapshotKeeper::Impl::make(const SnapshotSchedule::Moment& begun) {
  board_.begun_boot_ns.store(begun.boot.count(), std::memory_order_relaxed);
  const auto folded = fold(begun.durable, schedule_.behind(begun));
  board_.begun_boot_ns.store(0, std::memory_order_relaxed);
  if (!folded) {
    if (!stopping_.load()) fail(folded.error().text());
    return;
  }
  const auto reported = report(begun, *folded);
  if (!reported) fail(reported.error().text());
}

Result<FoldProcess::Usage> SnapshotKeeper::Impl::fold(Lsn through, bool hurries) {
  const std::uint64_t memory =
      settings_.memory_bytes != 0 ? settings_.memory_bytes : 2 * read_process_figures().resident_bytes + kSpareMemory;
  auto process = FoldProcess::start({settings_.directory, through, memory, ::getpid(), hurries});
  if (!process) return process.error();
  return process->wait(stop_.get());
}

Result<void> SnapshotKeeper::Impl::report(const SnapshotSchedule::Moment& begun, const FoldProcess::Usage& usage) {
  HOLDFAST_TRY(cleaner_.look());
  if (cleaner_.snapshots().empty()) return Error(ErrorCode::not_found, "the snapshot that was made is not there");
  const Lsn lsn = cleaner_.snapshots().back();
  const auto bytes = cleaner_.bytes_of(lsn);
  if (!bytes) return bytes.error();
  const ClockReading now = clock_.read();
  const auto took = std::chrono::duration_cast<Millis>(now.boot - begun.boot);
  schedule_.made(begun, lsn);
  log_.set_snapshot_bytes(*bytes);
  board_.bytes.store(*bytes, std::memory_order_relaxed);
  board_.made_wall_ms.store(std::chrono::duration_cast<Millis>(now.wall).count(), std::memory_order_relaxed);
  board_.last_ms.store(took.count(), std::memory_order_relaxed);
  board_.last_peak_bytes.store(usage.peak_bytes, std::memory_order_relaxed);
  if (board_.failing.exchange(false, std::memory_order_relaxed)) settings_.say("alarm snapshot is over");
  board_.made.fetch_add(1, std::memory_order_relaxed);
  board_.lsn.store(lsn.value(), std::memory_order_release);
  return {};
}

void SnapshotKeeper::Impl::fail(std::string_view what) {
  schedule_.failed(clock_.read().boot);
  board_.failed.fetch_add(1, std::memory_order_relaxed);
  if (!board_.failing.exchange(true, std::memory_order_relaxed)) {
    settings_.say(fmt::format("alarm snapshot: no snapshot could be made: {}", what));
  }
}

SnapshotKeeper::SnapshotKeeper(FileSystem& files, Clock& clock, LogThread& log, SnapshotBoard& board,
                               const Settings& settings, const RestoredSnapshot& restored, const RecoveredLog& replayed)
    : impl_(std::make_unique<Impl>(files, clock, log, board, settings, restored, replayed)) {}
SnapshotKeeper::~SnapshotKeeper() = default;

}  // namespace holdfast
