#include "server/outcomes.h"

#include <array>
#include <cstddef>

namespace holdfast {
namespace {

struct ReserveEntry {
  int number;
  std::string_view reason;
};

constexpr std::array<ReserveEntry, 10> kReserve = {{{-8, "ended"},
                                                    {0, "ok"},
                                                    {-7, "bad_token"},
                                                    {-6, "not_eligible"},
                                                    {-2, "limit_reached"},
                                                    {-4, "closed"},
                                                    {-5, "paused"},
                                                    {-3, "not_open"},
                                                    {-1, "sold_out"},
                                                    {0, "ok"}}};
constexpr std::array<int, 6> kVerb = {0, -1, -2, -3, -4, -5};

}  // namespace

int reply_number(ReserveOutcome outcome) noexcept { return kReserve[static_cast<std::size_t>(outcome)].number; }

std::string_view reason_word(ReserveOutcome outcome) noexcept {
  return kReserve[static_cast<std::size_t>(outcome)].reason;
}

int reply_number(VerbOutcome outcome) noexcept { return kVerb[static_cast<std::size_t>(outcome)]; }

}  // namespace holdfast
