#include "server/thread_stats.h"

#include <algorithm>

namespace holdfast {

LatencyClass latency_class(const CommandEntry& command) noexcept {
  if (command.home == CommandHome::session) return LatencyClass::session;
  if (command.id == CommandId::reserve) return LatencyClass::reserve;
  if (command.id == CommandId::reservation_wait) return LatencyClass::waiting;
  return command.access == CommandAccess::write ? LatencyClass::write : LatencyClass::read;
}

std::string_view latency_class_name(LatencyClass latency) noexcept {
  constexpr std::array<std::string_view, kLatencyClasses + 1> kNames = {"reserve", "write", "read", "session",
                                                                        "waiting"};
  return kNames[static_cast<std::size_t>(latency)];
}

std::string_view close_reason_name(CloseReason reason) noexcept {
  constexpr std::array<std::string_view, kCloseReasons> kNames = {
      "peer", "quit", "protocol", "broken", "deadline", "evicted", "secrets", "subscriber", "killed", "shutdown"};
  return kNames[static_cast<std::size_t>(reason)];
}

std::optional<std::size_t> verb_index(CommandId id) noexcept {
  switch (id) {
    case CommandId::confirm:
      return 0;
    case CommandId::release:
      return 1;
    case CommandId::refund:
      return 2;
    case CommandId::extend:
      return 3;
    default:
      return std::nullopt;
  }
}

void ThreadStats::count_error(std::string_view reply) noexcept {
  const std::string_view word = reply.substr(1, reply.find_first_of(" \r", 1) - 1);
  const ErrorEntry* found = error_table_begin();
  while (found != error_table_end() && found->wire != word) ++found;
  errors[static_cast<std::size_t>(found - error_table_begin())].add();
}

std::uint64_t ThreadStats::error_replies() const noexcept {
  std::uint64_t sum = 0;
  for (const Counter& error : errors) sum += error.value();
  return sum;
}

std::string_view error_word(std::size_t index) noexcept {
  if (index == kErrorCodes) return "OTHER";
  const ErrorEntry* error = error_table_begin() + index;
  const bool known =
      std::any_of(error_table_begin(), error, [&](const ErrorEntry& each) { return each.wire == error->wire; });
  return known ? std::string_view() : std::string_view(error->wire);
}

}  // namespace holdfast
