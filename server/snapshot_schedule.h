// When the next snapshot is made: once the log has grown by so much, or is so old, since the last; when what the older of
// two has not got is near the most that there may be of the log, and a newer one would be the older; or when somebody asks.
// After a failure first 1 s later, then 2, 4 ... 30 s. Deterministic; one thread.
#pragma once

#include "protocol/types.h"
#include "storage/retry_timer.h"

namespace holdfast {

class SnapshotSchedule {
 public:
  struct Limits {
    std::uint64_t log_bytes = 0;  // since the last snapshot
    Millis age{};                 // of it
  };
  /// What the log tells.
  struct Moment {
    std::chrono::nanoseconds boot{};
    Lsn durable;
    std::uint64_t log_bytes = 0;  // written since the process began
    bool pressed = false;         // files of the log that the older of two snapshots does not cover reach the alarm
  };

  /// `last`: the snapshot that the start began with; `bytes`: of the log behind it.
  SnapshotSchedule(const Limits& limits, Lsn last, std::uint64_t bytes, std::chrono::nanoseconds boot) noexcept
      : limits_(limits), last_(last), bytes_before_(bytes), since_(boot) {}

  void ask() noexcept { asked_ = true; }
  bool due(const Moment& moment) const noexcept {
    if (moment.durable <= last_ || retry_.waiting(moment.boot)) return false;
    return asked_ || moment.pressed || since_last(moment) >= limits_.log_bytes || moment.boot - since_ >= limits_.age;
  }
  /// The log grows faster than snapshots are made: it is several times as long as it should be.
  bool behind(const Moment& moment) const noexcept { return since_last(moment) / kBehindTimes >= limits_.log_bytes; }
  /// What was asked for is there: nothing has changed since the last one.
  bool settled(const Moment& moment) const noexcept { return asked_ && moment.durable <= last_; }
  /// A snapshot that was begun at this moment is there.
  void made(const Moment& begun, Lsn snapshot) noexcept {
    last_ = snapshot;
    bytes_before_ = 0;
    bytes_at_ = begun.log_bytes;
    since_ = begun.boot;
    asked_ = false;
    retry_.succeeded();
  }
  void forget() noexcept { asked_ = false; }
  void failed(std::chrono::nanoseconds boot) noexcept { retry_.failed(boot); }
  Lsn last() const noexcept { return last_; }

 private:
  static constexpr std::uint64_t kBehindTimes = 3;

  std::uint64_t since_last(const Moment& moment) const noexcept { return bytes_before_ + moment.log_bytes - bytes_at_; }

  Limits limits_;
  Lsn last_;
  std::uint64_t bytes_before_;  // of the log behind the last snapshot, from earlier processes
  std::uint64_t bytes_at_ = 0;
  std::chrono::nanoseconds since_;
  bool asked_ = false;
  RetryTimer retry_;
};

}  // namespace holdfast
