// The sinks that are registered, and how far each has come: in memory and, before anybody hears of it, in their file.
// Deterministic over FileSystem; one thread. What it says of a sink holds only for the log with this id.
#pragma once

#include "storage/file_system.h"
#include "storage/retry_timer.h"
#include "storage/sinks_format.h"

#include <functional>

namespace holdfast {

/// LOG ACK.
struct SinkAck {
  struct Park {
    ParkedKey key;
    std::string reason;
  };
  std::string sink;
  Lsn lsn;
  std::vector<Park> park;
  std::vector<ParkedKey> unpark;
};

/// Why nothing may be sold: the sink has what the log has not.
Error ahead_error(const Sink& sink, Lsn durable);

class SinkRegistry {
 public:
  /// Reads the file; there need be none. Errors: damaged, unsupported, io_failed, each with the file and what to do.
  static Result<SinkRegistry> open(FileSystem& files, std::string directory);

  /// The highest LSN that a sink proves to be durable, and the log of which it does; zeros when there is no file.
  Lsn floor() const noexcept;
  const LogId& log_id() const noexcept { return state_.log_id; }
  /// The log is this one. Sinks of the one that it was forked from are let go, with a line to `notice`; those of any
  /// other are an error, `foreign`.
  Result<void> attach(const LogIdentity& log, const std::function<void(std::string_view)>& notice);

  /// Registers the sink if it is new, moves it, parks and unparks; durable when this returns. When the file cannot be
  /// written, nothing has changed, and for a while nothing is tried. Errors: err (a bound, or a step back), fenced (the
  /// log is not durable so far, which is kept), io_failed, no_space.
  Result<void> acknowledge(const SinkAck& ack, Lsn durable, WallTime wall, std::chrono::nanoseconds boot);
  /// Forgets a sink, durably. Errors: err when there is none, else as above.
  Result<void> drop(std::string_view name, std::chrono::nanoseconds boot);
  /// Writes the file again once it may after it could not be written. True when it was.
  bool retry(std::chrono::nanoseconds boot);
  /// When retry() has something to do; the maximum for never.
  std::chrono::nanoseconds retry_due() const noexcept;
  /// Why the file could not be written, empty when it could.
  std::string_view failure() const noexcept { return failure_; }

  /// In the order of their names.
  const std::vector<Sink>& sinks() const noexcept { return state_.sinks; }
  /// Changes with the sinks.
  std::uint64_t version() const noexcept { return version_; }

 private:
  SinkRegistry(FileSystem& files, std::string directory, Sinks state)
      : files_(&files), directory_(std::move(directory)), state_(std::move(state)) {}
  Result<void> replace(Sinks next, std::chrono::nanoseconds boot);
  static Result<std::shared_ptr<const Parked>> parked_after(const Sink& sink, const SinkAck& ack, std::size_t others);

  FileSystem* files_;
  std::string directory_;
  Sinks state_;
  std::uint64_t version_ = 0;
  RetryTimer retry_;
  std::string failure_;
};

}  // namespace holdfast
