#include "storage/next_segment.h"

#include "storage/log_files.h"

namespace holdfast {

void NextSegment::advance(std::uint64_t number, std::uint64_t bytes, std::chrono::nanoseconds boot) {
  if (ready(bytes)) return;
  if (stage_ == Stage::nothing && !retry_.waiting(boot)) {
    opened_.reset();  // too short for a batch that is longer than usual
    bytes_ = std::max(settings_.segment_bytes, bytes);
    preparer_.start({settings_.directory, segment_path(settings_.directory, number), bytes_});
    stage_ = Stage::preparing;
  }
  if (stage_ == Stage::preparing) {
    const auto outcome = preparer_.poll();
    if (!outcome) return;
    stage_ = *outcome ? Stage::prepared : Stage::nothing;
    if (!*outcome) return fail(outcome->error(), boot);
  }
  if (stage_ == Stage::prepared && !retry_.waiting(boot)) open(number, boot);
}

void NextSegment::open(std::uint64_t number, std::chrono::nanoseconds boot) {
  auto opened = LiveSegment::open(files_, segment_path(settings_.directory, number), settings_.fsync);
  if (!opened) return fail(opened.error(), boot);
  opened_ = std::move(*opened);
  stage_ = Stage::nothing;
  retry_.succeeded();
  alarms_.clear(LogAlarm::next_segment);
}

void NextSegment::fail(const Error& error, std::chrono::nanoseconds boot) {
  retry_.failed(boot);
  alarms_.raise(LogAlarm::next_segment, error.text());
}

std::chrono::nanoseconds NextSegment::due() const noexcept {
  if (opened_ != nullptr || stage_ == Stage::preparing) return std::chrono::nanoseconds::max();
  return retry_.due();
}

}  // namespace holdfast
