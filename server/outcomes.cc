#include "server/outcomes.h"

#include <array>
#include <cstddef>

namespace holdfast {
namespace {

struct ReserveEntry {
  int number;
  std::string_view reason;
};

constexpr std::array<ReserveEntry, kReserveOutcomes> kReserve = {{{-8, "ended"},
                                                                  {0, "ok"},
                                                                  {-7, "bad_token"},
                                                                  {-6, "not_eligible"},
                                                                  {-2, "limit_reached"},
                                                                  {-4, "closed"},
                                                                  {-5, "paused"},
                                                                  {-3, "not_open"},
                                                                  {-1, "sold_out"},
                                                                  {0, "ok"}}};
constexpr std::array<int, kVerbOutcomes> kVerb = {0, -1, -2, -3, -4, -5};
constexpr std::array<std::string_view, kVerbOutcomes> kVerbWords = {"ok",       "none_live", "other_verb",
                                                                    "released", "expired",   "refunded"};

}  // namespace

int reply_number(ReserveOutcome outcome) noexcept { return kReserve[static_cast<std::size_t>(outcome)].number; }

std::string_view reason_word(ReserveOutcome outcome) noexcept {
  return kReserve[static_cast<std::size_t>(outcome)].reason;
}

std::string_view outcome_word(ReserveOutcome outcome) noexcept {
  return outcome == ReserveOutcome::known ? "replayed" : reason_word(outcome);
}

int reply_number(VerbOutcome outcome) noexcept { return kVerb[static_cast<std::size_t>(outcome)]; }

std::string_view outcome_word(VerbOutcome outcome) noexcept { return kVerbWords[static_cast<std::size_t>(outcome)]; }

}  // namespace holdfast
