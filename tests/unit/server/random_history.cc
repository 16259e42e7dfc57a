#include "tests/unit/server/random_history.h"

#include "server/view_keys.h"

#include <fmt/format.h>

#include <array>

namespace holdfast::testing {

Inventory::Settings history_settings() {
  Inventory::Settings settings;
  settings.ended_max = 3;
  settings.ended_retention = Millis(5'000);
  return settings;
}

std::string random_history_line(simulation::Dice& dice, std::uint64_t version) {
  const auto item = [&] { return std::string(kHistoryItems[dice.below(std::size(kHistoryItems))]); };
  const auto key = [&] { return view_key_text(item(), dice.chance(2, 3) ? KeyKind::stock : KeyKind::buyers); };
  const auto id = [&] { return fmt::format("00000000-0000-4000-8000-{:012}", dice.below(30)); };
  const auto user = [&] { return fmt::format("u{}", dice.below(5)); };
  switch (dice.below(24)) {
    case 0:
    case 1: {
      const std::string name = item();
      const bool sale = name.find('}') != std::string::npos && name[1] != '}' && dice.chance(1, 2);
      return fmt::format("ITEM CREATE {} STOCK {} LIMIT {}{}", name, dice.below(9), dice.below(4),
                         sale ? " SCOPE sale" : "");
    }
    case 2:
      return fmt::format("ITEM LOAD {} VERSION {} STOCK {}", item(), version, dice.below(9));
    case 3:
      return fmt::format("ITEM {} {}", std::array{"READY", "OPEN", "PAUSE", "CLOSE"}[dice.below(4)], item());
    case 4:
      return fmt::format("ITEM DROP {}{}", item(), dice.chance(1, 2) ? " CONFIRMED-TOO" : "");
    case 5:
      return fmt::format("ITEM ADJUST {} {} ID {} REASON r", item(), static_cast<int>(dice.below(7)) - 3, id());
    case 6:
      return fmt::format("ITEM RETURNS {} {}", dice.chance(1, 2) ? "*" : item(), dice.chance(1, 2) ? "HOLD" : "FREE");
    case 7:
      return fmt::format("SET {} {}", view_key_text(item(), KeyKind::stock), dice.below(9));
    case 8:
      return fmt::format("{} {} {} {}", std::array{"DEL", "UNLINK"}[dice.below(2)], key(), key(), key());
    case 9:
      return fmt::format("{} {} {} {} foreign {}", std::array{"MGET", "EXISTS", "TOUCH"}[dice.below(3)], key(), key(),
                         key(), key());
    case 10:
    case 11:
      return fmt::format("CONFIRM {} {} ID {}{}", item(), user(), id(), dice.chance(1, 4) ? " RESUME" : "");
    case 12:
      return fmt::format("RELEASE {} {}", item(), user());
    case 13:
      return fmt::format("REFUND {} - ID {}{}", item(), id(), dice.chance(1, 3) ? " WRITEOFF" : "");
    case 14:
      return fmt::format("EXTEND {} {} TTL {}", item(), user(), 1'000 + dice.below(9'000));
    default:
      return fmt::format("RESERVE {} {} QTY {} ID {} TTL {}", item(), user(), 1 + dice.below(2), id(),
                         1 + dice.below(3'000));
  }
}

}  // namespace holdfast::testing
