// The segment after the live one: asked for as soon as the live one is begun, opened as soon as it is ready, asked for
// again with a growing delay when that fails. Log thread.
#pragma once

#include "storage/alarm_board.h"
#include "storage/live_segment.h"
#include "storage/retry_timer.h"
#include "storage/segment_preparer.h"

namespace holdfast {

class NextSegment {
 public:
  NextSegment(FileSystem& files, SegmentPreparer& preparer, const LogSettings& settings, AlarmBoard& alarms) noexcept
      : files_(files), preparer_(preparer), settings_(settings), alarms_(alarms) {}

  /// Takes one step: asks for segment `number`, or takes over what was prepared. `bytes`: its least length.
  void advance(std::uint64_t number, std::uint64_t bytes, std::chrono::nanoseconds boot);
  /// Open, its header still zero, and at least so long.
  bool ready(std::uint64_t bytes) const noexcept { return opened_ != nullptr && opened_->bytes() >= bytes; }
  /// REQUIRES: ready.
  std::unique_ptr<LiveSegment> take() noexcept { return std::move(opened_); }
  /// When advance() has something to do; max() while the preparer works or nothing is missing.
  std::chrono::nanoseconds due() const noexcept;

 private:
  enum class Stage : std::uint8_t { nothing, preparing, prepared };
  void open(std::uint64_t number, std::chrono::nanoseconds boot);
  void fail(const Error& error, std::chrono::nanoseconds boot);

  FileSystem& files_;
  SegmentPreparer& preparer_;
  const LogSettings& settings_;
  AlarmBoard& alarms_;
  Stage stage_ = Stage::nothing;
  std::uint64_t bytes_ = 0;  // asked for
  std::unique_ptr<LiveSegment> opened_;
  RetryTimer retry_;
};

}  // namespace holdfast
