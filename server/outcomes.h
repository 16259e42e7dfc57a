// What becomes of a reservation command: outcomes of the business, which are answers and not errors. The order of each
// enum is the documented precedence. Constant data; any thread.
#pragma once

#include <cstdint>
#include <string_view>

namespace holdfast {

/// RESERVE's, in the order in which they are looked for: the first that applies is the answer.
enum class ReserveOutcome : std::uint8_t {
  ended,          // -8: the id is known and its reservation has ended
  known,          // success: the id is known with this body and live
  bad_token,      // -7
  not_eligible,   // -6
  limit_reached,  // -2
  closed,         // -4
  paused,         // -5
  not_open,       // -3: DRAFT or READY
  sold_out,       // -1
  taken,          // success
};

inline constexpr std::size_t kReserveOutcomes = 10;

/// The integer of a refusal; 0 for a success, whose integer is what is available.
int reply_number(ReserveOutcome outcome) noexcept;
/// "ok", "sold_out" and so on, as DETAILS shows it.
std::string_view reason_word(ReserveOutcome outcome) noexcept;

/// The same for a metric: "replayed" where the id was known, "ok" only where units were taken.
std::string_view outcome_word(ReserveOutcome outcome) noexcept;

/// CONFIRM's, RELEASE's, REFUND's and EXTEND's.
enum class VerbOutcome : std::uint8_t {
  done,        // the state that was asked for holds
  none_live,   // -1: nothing to act on, or an unknown id
  other_verb,  // -2: RELEASE of a confirmed one, REFUND or EXTEND of what is not in their state
  released,    // -3
  expired,     // -4
  refunded,    // -5
};

inline constexpr std::size_t kVerbOutcomes = 6;

/// The integer of a refusal; 0 for `done`, whose integer depends on the verb.
int reply_number(VerbOutcome outcome) noexcept;
/// "ok", "none_live" and so on.
std::string_view outcome_word(VerbOutcome outcome) noexcept;

}  // namespace holdfast
