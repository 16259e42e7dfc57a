#include "server/heavy_commands.h"

namespace holdfast {

bool may_be_large(CommandId id) noexcept {
  switch (id) {
    case CommandId::smembers:
    case CommandId::sscan:
    case CommandId::scan:
    case CommandId::reservation_list:
    case CommandId::item_list:
    case CommandId::item_verify:
      return true;
    default:
      return false;
  }
}

bool takes_long(CommandId id) noexcept {
  return may_be_large(id) || id == CommandId::item_drop || id == CommandId::item_returns;
}

}  // namespace holdfast
