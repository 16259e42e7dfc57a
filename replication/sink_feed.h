// Carries the log from a source to one sink, step by step: takes the sink over, reads, writes a batch, acknowledges. What
// fails is tried again from where the sink really stands; what a person must look at stops it. Deterministic over source
// and sink, and time comes in: no clock, no thread, no wait. One thread.
#pragma once

#include "replication/back_off.h"
#include "replication/batch_decoder.h"
#include "replication/log_source.h"

namespace holdfast {

enum class FeedState : std::uint8_t {
  starting,    // has not taken the sink over yet
  running,     // all is well
  retrying,    // something failed that may pass
  stopped,     // a person must look
  superseded,  // another relay has the sink
};
/// "starting" ...
std::string_view feed_state_name(FeedState state) noexcept;

/// What there is to tell of a feed; a copy for other threads.
struct FeedStatus {
  FeedState state = FeedState::starting;
  Cursor cursor;
  Lsn durable;  // of the server, as it last said
  std::uint64_t events = 0;
  std::uint64_t batches = 0;
  std::uint64_t failures = 0;
  std::uint64_t unacknowledged = 0;  // acknowledgements that the server did not take
  WallTime last_at{};                // of the last event that was written
  SinkFigures figures;
  std::string error;  // the last one; empty when all is well

  /// Records that are durable and not in the sink.
  std::uint64_t lag() const noexcept { return durable > cursor.lsn ? durable.value() - cursor.lsn.value() : 0; }
};

class SinkFeed {
 public:
  /// `name` of the sink, as the server knows it. `seed`: of the back-off's randomness.
  SinkFeed(std::string name, EventSink& sink, LogSource& source, std::uint64_t seed)
      : name_(std::move(name)), sink_(sink), source_(source), back_off_(seed) {}

  /// Does the next thing, and how long to wait before the one after it. `now` is of any clock that only goes on.
  /// REQUIRES: not over().
  Millis step(Millis now);
  /// It will never do anything again: status().state is stopped or superseded.
  bool over() const noexcept { return status_.state == FeedState::stopped || status_.state == FeedState::superseded; }
  const FeedStatus& status() const noexcept { return status_; }
  const std::string& name() const noexcept { return name_; }
  std::vector<std::string> take_alarms() { return sink_.take_alarms(); }

 private:
  Result<Millis> try_step(Millis now);
  Result<void> take_over();
  Result<Millis> read(Millis now);
  Result<void> write(Millis now);
  Result<void> tend(Millis now);
  Result<void> acknowledge(Millis now, bool notices_wanted);
  void succeed();
  Millis fail(const Error& error);

  std::string name_;
  EventSink& sink_;
  LogSource& source_;
  BackOff back_off_;
  FeedStatus status_;
  std::optional<BatchDecoder> decoder_;  // while the sink is ours
  std::optional<Millis> read_at_;        // when it last asked
  Millis tended_at_{0};                  // while the sink is ours: when it was last given time
  std::optional<Millis> notices_at_;     // when the server was last told of what is parked
  SinkFigures told_figures_;
  bool only_source_failed_ = false;  // the sink is as it was
};

}  // namespace holdfast
