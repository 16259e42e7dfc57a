// The thread that owns the running log, a thin shell: takes sealed groups whenever it is idle, as many as fit one batch,
// commits them and hands them back. A second thread prepares segments ahead, so that zero-filling delays no batch.
#pragma once

#include "storage/log.h"

#include <functional>
#include <vector>

namespace holdfast {

class LogThread {
 public:
  struct Callbacks {
    /// The groups of one batch, in LSN order, are safe by the log's fsync policy: replies that rest on them may leave.
    /// They belong to their shards again. Log thread; must not block.
    std::function<void(std::span<Group* const>)> on_committed;
    /// The live segment failed: nothing was or will be acknowledged any more. Must not return to serving: the server
    /// exits with 74 here. Log thread.
    std::function<void(const Error&)> on_failure;
  };

  /// Exit status of a process whose live segment failed (EX_IOERR).
  static constexpr int kExitStatus = 74;

  /// Starts the log (Log::start) and the threads. `shard_states`: each shard's state hash after recovery.
  static Result<std::unique_ptr<LogThread>> start(FileSystem& files, Clock& clock,
                                                  std::unique_ptr<LogRecovery> recovered,
                                                  std::vector<StateHash> shard_states, Callbacks callbacks);
  /// Stops as stop() does, without its result.
  ~LogThread();
  LogThread(const LogThread&) = delete;
  LogThread& operator=(const LogThread&) = delete;

  /// Hands over a sealed group; it may not be touched until on_committed returns it. Groups of one shard are written in
  /// the order of submission. Any thread; never blocks on I/O.
  void submit(Group& group);
  /// The same for several groups with one wake-up.
  void submit(std::span<Group* const> groups);
  /// Commits all that was submitted, flushes, and ends both threads. Any thread but the log's.
  Result<void> stop();

  const LogStatus& status() const noexcept;
  const LogIdentity& identity() const noexcept;
  /// The longest write since the last call, in nanoseconds. Any thread, but only one.
  std::uint64_t take_longest_flush_ns() noexcept;
  /// Raises or clears an alarm that is not the log's own. One thread for each.
  void raise(LogAlarm alarm, std::string_view why);
  void clear(LogAlarm alarm);
  RunningClocks clocks() const noexcept;
  std::uint64_t incarnation() const noexcept;
  /// Bytes of the last snapshot changed: how much space must stay free. Any thread.
  void set_snapshot_bytes(std::uint64_t bytes) noexcept;

 private:
  class Impl;
  explicit LogThread(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace holdfast
