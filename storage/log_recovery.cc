#include "storage/log_recovery.h"

#include "protocol/check.h"
#include "storage/mark_reader.h"
#include "storage/record_reader.h"
#include "storage/recovery_state.h"
#include "storage/snapshot_choice.h"

#include <algorithm>

namespace holdfast {
namespace {

#if HOLDFAST_MUTANT == 3
constexpr OpenMode kTailMode = OpenMode::read;
#else
/// The last segments are read past the page cache: after a failed flush it may show bytes that the device never took.
constexpr OpenMode kTailMode = OpenMode::read_suspicious;
#endif
constexpr std::size_t kTailSegments = 2;
constexpr std::uint64_t kProgressEvery = 64_MiB;

}  // namespace

/// The steps of opening, over one State.
class Opening {
 public:
  using State = LogRecovery::State;
  explicit Opening(State& state) noexcept : s_(state) {}

  Result<void> open(Random& random);
  Result<RestoredSnapshot> restore(SnapshotVisitor& visitor, const LogRecovery::Progress& progress);
  Result<RecoveredLog> replay(RecordVisitor& visitor, const LogRecovery::Progress& progress);

 private:
  Result<void> check_settings() const;
  Result<void> look();
  Result<void> make_directory();
  Result<void> create(Random& random);
  Result<void> sync_tail();
  Result<void> read_headers();
  Result<void> read_header(std::size_t index);
  Result<void> drop_unused(std::size_t index, const Error& why);
  Result<void> check_chain() const;
  bool is_covered(std::size_t index) const noexcept;
  Result<void> replay_segment(std::size_t index, RecordVisitor& visitor);
  Result<void> check_pinned_end(const SegmentEnd& pinned, const SegmentEnd& end, const FoundBatch& found) const;
  Result<void> apply(const FoundBatch& batch, const std::string& path, RecordVisitor& visitor);
  void tell_progress(std::uint64_t bytes);
  void finish();
  OpenMode mode_of(std::size_t index) const noexcept;
  std::string path_of(std::uint64_t number) const { return segment_path(s_.settings.directory, number); }
  Lsn floor() const noexcept;

  State& s_;
  RecoveredLog result_;
  RecoveryProgress progress_;
  std::uint64_t told_ = 0;
  WallTime wall_max_{};
  const LogRecovery::Progress* on_progress_ = nullptr;
};

Result<void> Opening::open(Random& random) {
  HOLDFAST_TRY(check_settings());
  HOLDFAST_TRY(look());
  if (!s_.directory.directory_exists) HOLDFAST_TRY(make_directory());
  auto lock = s_.files.lock(lock_path(s_.settings.directory));
  if (!lock) return lock.error();
  s_.lock = std::move(*lock);
  HOLDFAST_TRY(look());  // again: only now it stands still
  if (s_.directory.empty()) return create(random);
  HOLDFAST_TRY(sync_tail());
  auto mark = read_mark(s_.files, mark_path(s_.settings.directory));
  if (!mark) return mark.error();
  s_.mark = *mark;
  HOLDFAST_TRY(read_headers());
  if (s_.headers.empty()) return create(random);
  s_.identity = s_.headers.front().log;
  return check_chain();
}

Result<void> Opening::check_settings() const {
  const std::uint64_t bytes = s_.settings.segment_bytes;
  if (bytes >= kSegmentBytesMin && bytes <= kSegmentBytesMax && bytes % kBlockBytes == 0) return {};
  return Error::format(ErrorCode::bad_option, "--segment-bytes {} must be a multiple of {} from {} to {}", bytes,
                       kBlockBytes, kSegmentBytesMin, kSegmentBytesMax);
}

Result<void> Opening::look() {
  auto found = look_at_directory(s_.files, s_.settings.directory);
  if (!found) return found.error();
  s_.directory = std::move(*found);
  const std::string& directory = s_.settings.directory;
  if (s_.directory.unfinished_repair) {
    return Error::format(ErrorCode::damaged,
                         "{}: a repair of it was cut off; holdfastctl log repair --accept-loss completes it",
                         directory);
  }
  if (s_.directory.segments.empty() && !s_.directory.other.empty()) {
    return Error::format(ErrorCode::foreign, "{}: {} holds '{}' and no log. Name an empty directory, or the right one",
                         row_name(RecoveryRow::foreign_file), directory, Echo(s_.directory.other).text());
  }
  if (s_.directory.segments.empty() && !s_.directory.empty()) {
    return Error::format(ErrorCode::damaged, "{}: {} had a log, but its segments are gone. Restore a backup",
                         row_name(RecoveryRow::missing_file), directory);
  }
  if (s_.directory.empty() && s_.settings.require_data) {
    return Error::format(ErrorCode::not_found,
                         "{} is {}, and --require-data is set: is its file system mounted? For a new log, start "
                         "once without --require-data",
                         directory, s_.directory.directory_exists ? "empty" : "missing");
  }
  return {};
}

Result<void> Opening::make_directory() {
  HOLDFAST_TRY(s_.files.make_directory(s_.settings.directory));
  return s_.files.sync_directory(parent_directory(s_.settings.directory));
}

Result<void> Opening::create(Random& random) {
  if (s_.settings.require_data) {
    return Error::format(ErrorCode::not_found, "{} holds no log, and --require-data is set", s_.settings.directory);
  }
  if (s_.settings.floor > Lsn() || !s_.directory.snapshots.empty() || s_.mark) {
    return Error::format(ErrorCode::damaged, "{}: {} has a mark or a snapshot, but no log. Restore a backup",
                         row_name(RecoveryRow::missing_file), s_.settings.directory);
  }
  s_.notice(fmt::format("{} holds no log: a new one begins there", s_.settings.directory));
  random.fill(s_.identity.id);
  random.fill(s_.identity.secret);
  s_.created = true;
  return {};
}

/// W-14: no decision may rest on bytes or names that a dead process left in the page cache only.
Result<void> Opening::sync_tail() {
  const auto& numbers = s_.directory.segments;
  const std::size_t first = numbers.size() > kTailSegments ? numbers.size() - kTailSegments : 0;
  for (std::size_t index = first; index < numbers.size(); ++index) {
    auto file = s_.files.open(path_of(numbers[index]), OpenMode::write);
    if (!file) return file.error();
    HOLDFAST_TRY((*file)->sync());
  }
  return s_.files.sync_directory(s_.settings.directory);
}

Result<void> Opening::read_headers() {
  const auto& numbers = s_.directory.segments;
  for (std::size_t index = 0; index < numbers.size(); ++index) {
    if (numbers[index] != numbers.front() + index) {
      return refuse(RecoveryRow::missing_file, ErrorCode::damaged, path_of(numbers.front() + index), 0,
                    "it is missing");
    }
    HOLDFAST_TRY(read_header(index));
  }
  return {};
}

Result<void> Opening::read_header(std::size_t index) {
  const std::uint64_t number = s_.directory.segments[index];
  auto window = FileWindow::open(s_.files, path_of(number), mode_of(index));
  if (!window) return window.error();
  const auto block = window->view(0, kBlockBytes);
  if (!block) return refuse(RecoveryRow::read_failed, block.error().code(), path_of(number), 0, block.error().text());
  auto header = read_segment_header(*block);
  if (!header) return drop_unused(index, header.error());
  if (header->log.secret == kNoSecret) {
    return refuse(RecoveryRow::foreign_file, ErrorCode::foreign, path_of(number), 0,
                  "it is a backup's; holdfastctl restore makes a data directory of it");
  }
  if (header->number != number) {
    return refuse(RecoveryRow::foreign_file, ErrorCode::foreign, path_of(number), 0,
                  fmt::format("its header says that it is segment {}", header->number));
  }
  s_.headers.push_back(*header);
  return {};
}

/// A last segment without a sound header was prepared and never begun, unless a batch lies in it.
Result<void> Opening::drop_unused(std::size_t index, const Error& why) {
  const std::string path = path_of(s_.directory.segments[index]);
  const bool last = index + 1 == s_.directory.segments.size();
  if (!last || why.code() != ErrorCode::damaged) {
    return refuse(RecoveryRow::bad_header, why.code(), path, 0, why.text());
  }
  auto window = FileWindow::open(s_.files, path, mode_of(index));
  if (!window) return window.error();
  const auto used = has_any_batch(*window, 0);
  if (!used) return used.error();
  if (*used) return refuse(RecoveryRow::bad_header, ErrorCode::damaged, path, 0, why.text());
  if (index == 0 && s_.directory.segments[0] != 1) {
    return refuse(RecoveryRow::missing_file, ErrorCode::damaged, path, 0, "the segments before it are missing");
  }
  return {};
}

Result<void> Opening::check_chain() const {
  for (std::size_t index = 1; index < s_.headers.size(); ++index) {
    const SegmentHeader& before = s_.headers[index - 1];
    const SegmentHeader& header = s_.headers[index];
    const bool same_log = header.log.id == before.log.id && header.log.secret == before.log.secret;
    const bool follows = header.predecessor.length_bytes <= before.segment_bytes &&
                         header.first_lsn >= before.first_lsn && header.incarnation >= before.incarnation;
    if (!same_log || !follows) {
      return refuse(RecoveryRow::foreign_file, ErrorCode::foreign, path_of(header.number), 0,
                    same_log ? "it does not follow the segment before it" : "it belongs to another log");
    }
  }
  if (s_.mark && s_.mark->log_id != s_.identity.id) {
    return refuse(RecoveryRow::foreign_file, ErrorCode::foreign, mark_path(s_.settings.directory), 0,
                  "it belongs to another log");
  }
  return {};
}

OpenMode Opening::mode_of(std::size_t index) const noexcept {
  return index + kTailSegments >= s_.directory.segments.size() ? kTailMode : OpenMode::read;
}

Lsn Opening::floor() const noexcept {
  const bool of_this_log = s_.settings.floor_log == kNoLogId || s_.settings.floor_log == s_.identity.id;
  const Lsn snapshot = s_.directory.snapshots.empty() ? Lsn() : s_.directory.snapshots.back();
  return std::max({of_this_log ? s_.settings.floor : Lsn(), snapshot, s_.mark ? s_.mark->durable_lsn : Lsn()});
}

Result<RestoredSnapshot> Opening::restore(SnapshotVisitor& visitor, const LogRecovery::Progress& progress) {
  s_.restored.emplace();
  if (s_.created) return *s_.restored;
  const auto tell = [&](std::uint64_t done, std::uint64_t total) {
    if (progress) progress({done, total, Lsn()});
  };
  const LogExtent log{s_.settings.directory, s_.identity, s_.headers.front().first_lsn};
  auto chosen = choose_snapshot(s_.files, log, s_.directory.snapshots, s_.settings.notice);
  if (!chosen) return chosen.error();
  if (!*chosen) return *s_.restored;
  SnapshotReader& snapshot = **chosen;
  const auto totals = snapshot.read(visitor, [&](std::uint64_t bytes) { tell(bytes, snapshot.bytes()); });
  if (!totals) {
    return refuse(RecoveryRow::bad_snapshot, totals.error().code(), snapshot.path(), 0, totals.error().text());
  }
  s_.restored = {snapshot.header().lsn, snapshot.bytes(), *totals, {}};
  for (const Lsn newer : s_.directory.snapshots) {
    if (newer > s_.restored->lsn) s_.restored->damaged.push_back(newer);
  }
  return *s_.restored;
}

/// Whether all records of a segment are in the snapshot. The last one is always read.
bool Opening::is_covered(std::size_t index) const noexcept {
  return index + 1 < s_.headers.size() && s_.headers[index + 1].predecessor.last_lsn <= s_.restored->lsn;
}

Result<RecoveredLog> Opening::replay(RecordVisitor& visitor, const LogRecovery::Progress& progress) {
  on_progress_ = &progress;
  for (std::size_t index = 0; index < s_.headers.size(); ++index) {
    if (!is_covered(index)) progress_.bytes_total += s_.headers[index].segment_bytes;
  }
  for (std::size_t index = 0; index < s_.headers.size(); ++index) HOLDFAST_TRY(replay_segment(index, visitor));
  finish();
  result_.bytes = progress_.bytes_done;
  tell_progress(progress_.bytes_total - progress_.bytes_done);
  return result_;
}

Result<void> Opening::replay_segment(std::size_t index, RecordVisitor& visitor) {
  const SegmentHeader& header = s_.headers[index];
  const SegmentHeader* next = index + 1 < s_.headers.size() ? &s_.headers[index + 1] : nullptr;
  if (is_covered(index)) return {};
  auto window = FileWindow::open(s_.files, path_of(header.number), mode_of(index));
  if (!window) return window.error();
  SegmentReader reader(*window, header);
  s_.downtime_open = header.downtime_open;
  for (;;) {
    if (next != nullptr && reader.end() == next->predecessor) break;
    auto found = reader.next();
    if (!found) {
      return refuse(RecoveryRow::read_failed, found.error().code(), window->path(), reader.end().length_bytes,
                    found.error().text());
    }
    if (next != nullptr) HOLDFAST_TRY(check_pinned_end(next->predecessor, reader.end(), *found));
    if (found->finding != BatchFinding::valid) {
      const auto tail = decide_tail(*window, header, reader.end(), *found, floor());
      if (!tail) return tail.error();
      s_.tail = *tail;
      break;
    }
    s_.downtime_open = false;
    HOLDFAST_TRY(apply(*found, window->path(), visitor));
    tell_progress(found->whole.size());
  }
  if (next != nullptr && next->state != reader.state()) {
    return refuse(RecoveryRow::foreign_file, ErrorCode::damaged, path_of(next->number), 0,
                  "its state hash is not the one its predecessor ends with");
  }
  s_.end = reader.end();
  s_.state = reader.state();
  s_.clocks = reader.clocks();
  s_.incarnation = header.incarnation;
  return {};
}

/// `end` is where the reader stands after `found`.
Result<void> Opening::check_pinned_end(const SegmentEnd& pinned, const SegmentEnd& end, const FoundBatch& found) const {
  if (found.finding == BatchFinding::valid && end.length_bytes <= pinned.length_bytes) return {};
  const auto text = fmt::format("{}, but the next segment says that this one is valid up to {} (LSN {})",
                                finding_name(found.finding), pinned.length_bytes, pinned.last_lsn.value());
  return refuse(RecoveryRow::mid_log, ErrorCode::damaged, path_of(pinned.segment), found.offset, text);
}

Result<void> Opening::apply(const FoundBatch& batch, const std::string& path, RecordVisitor& visitor) {
  const BatchBody body{batch.body, batch.header.first_lsn, batch.header.count, s_.restored->lsn};
  const auto summary = read_records(body, visitor);
  if (!summary) {
    return refuse(RecoveryRow::bad_record, summary.error().code(), path, batch.offset, summary.error().text());
  }
  wall_max_ = std::max(wall_max_, summary->wall_max);
  result_.records += summary->visited;
  progress_.lsn = batch.header.last_lsn();
  return {};
}

void Opening::tell_progress(std::uint64_t bytes) {
  progress_.bytes_done += bytes;
  if (!*on_progress_ ||
      (progress_.bytes_done - told_ < kProgressEvery && progress_.bytes_done < progress_.bytes_total)) {
    return;
  }
  told_ = progress_.bytes_done;
  (*on_progress_)(progress_);
}

void Opening::finish() {
  if (s_.mark) {
    s_.incarnation = std::max(s_.incarnation, s_.mark->incarnation);
    if (!s_.clocks || s_.mark->clocks.hold > s_.clocks->hold) s_.clocks = s_.mark->clocks;
  }
  if (s_.clocks) s_.clocks->stamp = std::max(s_.clocks->stamp, wall_max_);
  s_.replayed = true;
  result_.last_lsn = s_.end.last_lsn;
  result_.state = s_.state;
  result_.created = s_.created;
  result_.dropped_bytes = s_.tail.dropped_end - s_.tail.dropped_begin;
  result_.tail = s_.tail.row;
  result_.unused_segment = s_.headers.size() < s_.directory.segments.size();
}

Result<std::unique_ptr<LogRecovery>> LogRecovery::open(FileSystem& files, Clock& clock, Random& random,
                                                       const LogSettings& settings) {
  auto state = std::make_unique<State>(files, clock, settings);
  HOLDFAST_TRY(Opening(*state).open(random));
  return std::unique_ptr<LogRecovery>(new LogRecovery(std::move(state)));
}

LogRecovery::LogRecovery(std::unique_ptr<State> state) : state_(std::move(state)) {}
LogRecovery::~LogRecovery() = default;

const LogIdentity& LogRecovery::identity() const noexcept { return state_->identity; }

Result<RestoredSnapshot> LogRecovery::restore(SnapshotVisitor& visitor, const Progress& progress) {
  CHECK(!state_->restored);
  return Opening(*state_).restore(visitor, progress);
}

Result<RecoveredLog> LogRecovery::replay(RecordVisitor& visitor, const Progress& progress) {
  CHECK(state_->restored && !state_->replayed);
  return Opening(*state_).replay(visitor, progress);
}

}  // namespace holdfast
