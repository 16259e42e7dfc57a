// Between the thread that keeps snapshots and everybody else: what it tells, and how it is asked. Any thread.
#pragma once

#include "protocol/types.h"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <utility>

namespace holdfast {

/// What INFO shows.
struct SnapshotFigures {
  Lsn lsn;                  // of the newest; none: there is none
  std::uint64_t bytes = 0;  // of its file
  WallTime made_at{};       // 0: not by this process
  bool in_progress = false;
  Millis running{};          // so far, when in progress
  std::uint64_t made = 0;    // by this process
  std::uint64_t failed = 0;  // tries
  bool failing = false;      // the last try failed
  Millis last{-1};           // how long the last one took; -1: none did
  std::uint64_t last_peak_bytes = 0;
};

class SnapshotBoard {
 public:
  // Written by the keeper, read relaxed by who shows them.

  std::atomic<std::uint64_t> lsn{0};              // of the newest; 0: there is none
  std::atomic<std::uint64_t> bytes{0};            // of its file
  std::atomic<std::int64_t> made_wall_ms{0};      // when it was made, as far as this process knows
  std::atomic<std::int64_t> begun_boot_ns{0};     // CLOCK_BOOTTIME when the one in the making was begun; 0: none is
  std::atomic<std::uint64_t> made{0};             // by this process
  std::atomic<std::uint64_t> failed{0};           // tries that did not come to one
  std::atomic<bool> failing{false};               // whether the last try failed
  std::atomic<std::int64_t> last_ms{-1};          // how long the last one took
  std::atomic<std::uint64_t> last_peak_bytes{0};  // resident memory of the process that made it
  std::atomic<std::uint64_t> removed_segments{0};

  bool in_progress() const noexcept { return begun_boot_ns.load(std::memory_order_relaxed) != 0; }
  /// `boot`: CLOCK_BOOTTIME now.
  SnapshotFigures figures(std::chrono::nanoseconds boot) const noexcept {
    const auto read = [](const auto& value) { return value.load(std::memory_order_relaxed); };
    const std::int64_t begun = read(begun_boot_ns);
    const auto running = std::chrono::duration_cast<Millis>(boot - std::chrono::nanoseconds(begun));
    return {Lsn(lsn.load(std::memory_order_acquire)),
            read(bytes),
            wall_time(read(made_wall_ms)),
            begun != 0,
            begun != 0 ? running : Millis(0),
            read(made),
            read(failed),
            read(failing),
            Millis(read(last_ms)),
            read(last_peak_bytes)};
  }

  /// Asks for a snapshot of what is durable now.
  void ask() {
    {
      const std::lock_guard lock(mutex_);
      asked_ = true;
    }
    changed_.notify_one();
  }

  /// The log has grown much: whether a snapshot is due is to be looked at now.
  void look() {
    {
      const std::lock_guard lock(mutex_);
      looking_ = true;
    }
    changed_.notify_one();
  }

  // The keeper's.

  /// Sleeps until it is asked, is to look or the time is over; whether it was asked.
  bool wait(Millis time) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, time, [this] { return asked_ || looking_ || stopping_; });
    looking_ = false;
    return std::exchange(asked_, false);
  }
  void stop() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_one();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool asked_ = false;
  bool looking_ = false;
  bool stopping_ = false;
};

}  // namespace holdfast
