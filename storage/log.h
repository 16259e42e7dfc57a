// The log while it runs: batches of sealed groups go into the live segment and become durable; segments follow one
// another; the mark follows the batches.
//
// Deterministic over FileSystem, Clock and Random, and without a thread of its own: all calls come from one thread
// (log_thread.h), except status(), which any thread may read.
//
//   LogRecovery::open -> replay -> (the server checks the state hash) -> Log::start -> make_room, commit, tick ...
#pragma once

#include "storage/group.h"
#include "storage/log_recovery.h"
#include "storage/log_status.h"

namespace holdfast {

class AlarmBoard;
class SegmentPreparer;

class Log {
 public:
  /// Opens a new segment under the next incarnation, both durable before this returns; keeps a copy of a dropped suffix.
  /// `preparer` makes segments ahead (segment_preparer.h); none: on the calling thread. It outlives the log.
  /// REQUIRES: replayed. Errors: io_failed, no_space; a later start finds the log as it was.
  static Result<std::unique_ptr<Log>> start(std::unique_ptr<LogRecovery> recovered,
                                            SegmentPreparer* preparer = nullptr);
  ~Log();
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  /// Whether a batch of these groups fits now, after switching to the next segment if need be. False: no next segment
  /// could be made yet (alarm `next_segment`); nothing is lost, call again when due() says so.
  /// An error is a failed write or flush of the live segment: acknowledge nothing more, exit with 74.
  Result<bool> make_room(std::span<Group* const> groups);
  /// Writes the groups as one batch and, with --fsync always, returns when it is durable; then the groups have their
  /// LSNs. `state`: the sum of the shards' state hashes after them. An error as for make_room.
  /// REQUIRES: make_room said true for them; groups sealed, not empty.
  Result<void> commit(std::span<Group* const> groups, const StateHash& state);
  /// Housekeeping: next segment, idle mark, identity of the live file, free space, --fsync everysec. Called after each
  /// batch and whenever due() has come. An error as for make_room, also when the live file is no longer the one on disk.
  Result<void> tick();
  /// When tick() has something to do next, on CLOCK_BOOTTIME.
  std::chrono::nanoseconds due() const noexcept;
  /// Makes durable what is written and writes the mark; for an orderly stop. An error as for make_room.
  Result<void> close();

  /// Bytes of the last snapshot changed: how much space must stay free.
  void set_snapshot_bytes(std::uint64_t bytes) noexcept;
  std::uint64_t snapshot_bytes() const noexcept;

  const LogStatus& status() const noexcept;
  /// The longest write since the last call. Any thread, but only one.
  std::uint64_t take_longest_flush_ns() noexcept;
  const LogIdentity& identity() const noexcept;
  /// For alarms of others; each alarm is one thread's.
  AlarmBoard& alarms() noexcept;
  const LogSettings& settings() const noexcept;
  std::uint64_t incarnation() const noexcept;
  Lsn written_lsn() const noexcept;
  Lsn durable_lsn() const noexcept;
  /// A copy for each thread that runs steps.
  RunningClocks clocks() const noexcept;

 private:
  class Impl;
  explicit Log(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace holdfast
