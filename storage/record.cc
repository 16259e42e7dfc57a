#include "storage/record.h"

#include <array>

namespace holdfast {
namespace {

constexpr std::array<std::string_view, 5> kItemStates = {"DRAFT", "READY", "OPEN", "PAUSED", "CLOSED"};
constexpr std::array<std::string_view, 6> kReservationStates = {"NONE",     "RESERVED", "CONFIRMED",
                                                                "RELEASED", "EXPIRED",  "REFUNDED"};
constexpr std::array<std::string_view, 13> kItemEvents = {
    "", "LOAD", "READY", "OPEN", "PAUSE", "CLOSE", "DROP", "ADJUST", "SET", "STOCK", "RETURNS", "FENCE", "UNFENCE"};
constexpr std::array<std::string_view, 8> kReservationEvents = {"",        "RESERVE", "CONFIRM", "RESUME",
                                                                "RELEASE", "EXPIRE",  "REFUND",  "EXTEND"};

}  // namespace

bool lawful(const Counters& counters, std::int64_t total) noexcept {
  std::int64_t sum = 0;
  for (const auto part : {counters.available, counters.reserved, counters.confirmed, counters.held}) {
    if (part < 0 || part > kStockMax) return false;
    sum += part;
  }
  return sum == total && total <= kStockMax;
}

std::string_view event_name(ItemEvent event) noexcept { return kItemEvents[static_cast<std::size_t>(event)]; }

std::string_view event_name(ReservationEvent event) noexcept {
  return kReservationEvents[static_cast<std::size_t>(event)];
}

std::string_view state_name(ItemState state) noexcept { return kItemStates[static_cast<std::size_t>(state)]; }

std::string_view state_name(ReservationState state) noexcept {
  return kReservationStates[static_cast<std::size_t>(state)];
}

std::string_view scope_name(LimitScope scope) noexcept { return scope == LimitScope::item ? "item" : "sale"; }

}  // namespace holdfast
