#include "replication/sink_feed.h"

#include "protocol/check.h"

#include <array>
#include <utility>

namespace holdfast {
namespace {

constexpr std::array<std::string_view, 5> kStates = {"starting", "running", "retrying", "stopped", "superseded"};

/// Whether waiting does not help.
bool needs_person(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::damaged:
    case ErrorCode::foreign:
    case ErrorCode::unsupported:
    case ErrorCode::bad_option:
    case ErrorCode::no_auth:
    case ErrorCode::no_perm:
    case ErrorCode::wrong_pass:
      return true;
    default:
      return false;
  }
}

}  // namespace

std::string_view feed_state_name(FeedState state) noexcept { return kStates[static_cast<std::size_t>(state)]; }

Millis SinkFeed::step(Millis now) {
  CHECK(!over());
  const auto pause = try_step(now);
  if (!pause) return fail(pause.error());
  return *pause;
}

/// All is well: the sink took something, or has all there is. That it could be opened is no proof after a failed write.
void SinkFeed::succeed() {
  back_off_.succeeded();
  status_.state = FeedState::running;
  status_.error.clear();
}

Millis SinkFeed::fail(const Error& error) {
  ++status_.failures;
  status_.error = error.text();
  // After an error of its own, where the sink stands is known only when it is opened anew.
  if (!std::exchange(only_source_failed_, false)) decoder_.reset();
  read_at_.reset();
  if (error.code() == ErrorCode::superseded) {
    status_.state = FeedState::superseded;
  } else if (needs_person(error.code())) {
    status_.state = FeedState::stopped;
  } else {
    status_.state = FeedState::retrying;
    return back_off_.failed();
  }
  return Millis(0);
}

Result<Millis> SinkFeed::try_step(Millis now) {
  if (!decoder_) {
    HOLDFAST_TRY(take_over());
    HOLDFAST_TRY(tend(now));
    HOLDFAST_TRY(acknowledge(now, true));
    return Millis(0);
  }
  if (now >= tended_at_ + kTendEvery) HOLDFAST_TRY(tend(now));
  if (!decoder_->done()) {
    HOLDFAST_TRY(write(now));
    return Millis(0);
  }
  return read(now);
}

Result<void> SinkFeed::take_over() {
  // First, so that a sink is taken from nobody when the server is away; and again, since whoever had the sink went on until now.
  if (const auto there = source_.look(); !there) return there.error();
  auto state = sink_.open();
  if (!state) return state.error();
  const auto range = source_.look();
  if (!range) return range.error();
  status_.cursor = state->cursor;
  HOLDFAST_TRY(check_cursor(state->cursor, *range));
  status_.durable = range->durable;
  status_.cursor.log = range->log;
  decoder_.emplace(status_.cursor, std::move(state->items));
  if (status_.state == FeedState::starting) succeed();
  return {};
}

Result<void> SinkFeed::tend(Millis now) {
  HOLDFAST_TRY(sink_.tend(now));
  tended_at_ = now;
  status_.figures = sink_.figures();
  return {};
}

Result<Millis> SinkFeed::read(Millis now) {
  const bool has_all = status_.cursor.lsn >= status_.durable;
  if (has_all && read_at_ && now < *read_at_ + kGatherTime) return *read_at_ + kGatherTime - now;
  if (!notices_at_ || now >= *notices_at_ + kNoticesEvery) HOLDFAST_TRY(acknowledge(now, true));
  auto page = source_.read(decoder_->cursor().next(), kReadBytesMax, kBlockTime);
  only_source_failed_ = !page;
  if (!page) return page.error();
  HOLDFAST_TRY(check_cursor(status_.cursor, page->range));
  status_.durable = page->range.durable;
  read_at_ = now;
  if (page->batches.empty()) succeed();
  decoder_->feed(std::move(page->batches));
  return Millis(0);
}

Result<void> SinkFeed::write(Millis now) {
  auto batch = decoder_->next(kBatchEventsMax);
  if (!batch) return batch.error();
  HOLDFAST_TRY(sink_.apply(status_.cursor.log, *batch));
  succeed();
  status_.cursor.lsn = batch->through;
  status_.events += batch->events.size();
  ++status_.batches;
  status_.figures = sink_.figures();
  if (!batch->events.empty()) status_.last_at = batch->events.back().at;
  const bool changed =
      status_.figures.parked != told_figures_.parked || status_.figures.resolved != told_figures_.resolved;
  return acknowledge(now, changed);
}

/// The sink has it all the same when the server does not take this; it is told again with the next batch.
Result<void> SinkFeed::acknowledge(Millis now, bool notices_wanted) {
  std::vector<ParkNotice> notices;
  if (notices_wanted) {
    auto untold = sink_.untold(kNoticesMax);
    if (!untold) return untold.error();
    notices = std::move(*untold);
    status_.figures = sink_.figures();
    if (notices.size() < kNoticesMax) {
      notices_at_ = now;
      told_figures_ = status_.figures;
    }
  }
  const auto taken = source_.acknowledge(name_, status_.cursor.lsn, notices);
  if (!taken) {
    ++status_.unacknowledged;
    // What it will not be told of must not keep it from knowing how far the sink is.
    if (!notices.empty()) source_.acknowledge(name_, status_.cursor.lsn, {});
    return {};
  }
  if (notices.empty()) return {};
  return sink_.told(notices);
}

}  // namespace holdfast
