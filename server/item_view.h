// What any thread may know of an item: that it takes no RESERVE now, why, and until when. Written by the item's owner
// only, read by all; the protocol and why it is right are in server/views.md. Its address is fixed until it is retired.
//
//   owner   withdraw -> change of the item -> durable -> publish
//   reader  version even? -> fields -> filters -> version still the same? -> the answer
#pragma once

#include "server/refusal.h"
#include "server/view_filter.h"

#include <limits>
#include <optional>

namespace holdfast {

/// What is asked of a view: a RESERVE, and when its last byte was read.
struct ViewQuestion {
  std::int64_t quantity = 1;
  std::uint64_t user = 0;           // ViewHashes::user
  std::optional<std::uint64_t> id;  // ViewHashes::id
  std::chrono::nanoseconds hold{};
  WallTime wall;
};

/// What a published view says.
struct ViewContent {
  Refusal refusal;
  std::int64_t limit = 0;                // per user; 0: none
  std::chrono::nanoseconds valid_until;  // on the hold clock, exclusive
  const ViewFilter* users = nullptr;     // with a live reservation; none: nobody is asked for when the limit is 0
  const ViewFilter* ids = nullptr;       // remembered ones
};

struct alignas(64) ItemView {
  ViewAtomic<std::uint64_t> version{1};  // even: published, odd: withdrawn; only grows
  ViewAtomic<std::int64_t> valid_until{0};
  ViewAtomic<std::uint32_t> answer{0};
  ViewAtomic<std::uint32_t> limit{0};
  ViewAtomic<std::uint64_t> sequence{0};
  ViewAtomic<std::uint64_t> reserved{0};
  ViewAtomic<std::uint64_t> opens_at_ms{0};
  ViewAtomic<const ViewFilter*> users{nullptr};
  ViewAtomic<const ViewFilter*> ids{nullptr};

  /// The owner. REQUIRES: published.
  void withdraw() noexcept { version.exchange(version.load(std::memory_order_relaxed) + 1, std::memory_order_seq_cst); }

  /// The owner. REQUIRES: withdrawn, and all that it says is durable.
  void publish(const ViewContent& content) noexcept {
    constexpr auto kRelease = std::memory_order_release;
    // A limit that does not fit is larger than any quantity that is answered here.
    constexpr std::int64_t kLimitMax = std::numeric_limits<std::uint32_t>::max();
    valid_until.store(content.valid_until.count(), kRelease);
    answer.store(static_cast<std::uint32_t>(content.refusal.outcome), kRelease);
    limit.store(static_cast<std::uint32_t>(content.limit < kLimitMax ? content.limit : kLimitMax), kRelease);
    sequence.store(content.refusal.sequence.value(), kRelease);
    reserved.store(static_cast<std::uint64_t>(content.refusal.reserved), kRelease);
    opens_at_ms.store(static_cast<std::uint64_t>(to_ms(content.refusal.opens_at)), kRelease);
    users.store(content.users, kRelease);
    ids.store(content.ids, kRelease);
    version.store(version.load(std::memory_order_relaxed) + 1, kRelease);
  }

  /// Any thread: the refusal, or nothing when the owner has to be asked.
  std::optional<Refusal> read(const ViewQuestion& question) const noexcept {
    constexpr auto kAcquire = std::memory_order_acquire;
    const std::uint64_t seen = version.load(kAcquire);
    if (seen % 2 != 0) return std::nullopt;
#if HOLDFAST_MUTANT != 31
    if (question.hold.count() >= valid_until.load(kAcquire)) return std::nullopt;
#endif
    Refusal refusal;
    refusal.outcome = static_cast<ReserveOutcome>(answer.load(kAcquire));
    refusal.opens_at = wall_time(static_cast<std::int64_t>(opens_at_ms.load(kAcquire)));
    if (refusal.outcome == ReserveOutcome::not_open && refusal.opens_at != WallTime() &&
        question.wall >= refusal.opens_at) {
      return std::nullopt;
    }
    if (const std::int64_t per_user = limit.load(kAcquire); per_user != 0) {
      if (question.quantity > per_user) return std::nullopt;
      // Another limit's view has no filter of users; then the version has moved.
      const ViewFilter* live = users.load(kAcquire);
      if (live == nullptr || live->may_contain(question.user)) return std::nullopt;
    }
    if (question.id) {
      const ViewFilter* remembered = ids.load(kAcquire);
      if (remembered == nullptr || remembered->may_contain(*question.id)) return std::nullopt;
    }
    refusal.sequence = Sequence(sequence.load(kAcquire));
    refusal.reserved = static_cast<std::int64_t>(reserved.load(kAcquire));
    if (version.load(std::memory_order_relaxed) != seen) return std::nullopt;
    return refusal;
  }
};
#ifndef HOLDFAST_VIEW_ATOMIC
static_assert(sizeof(ItemView) == 64);
#endif

}  // namespace holdfast
