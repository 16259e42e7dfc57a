#include "server/lookahead.h"

#include "protocol/check.h"

namespace holdfast {
namespace {

/// The rows of an item that is large enough, else nothing.
const ItemRows* rows_of(const Inventory& inventory, std::string_view word) {
  const auto name = ItemName::parse(word);
  const Item* const item = name ? inventory.peek(*name) : nullptr;
  return item != nullptr && item->rows->row_count() >= Lookahead::kRowsMin ? item->rows.get() : nullptr;
}

/// As a client sends it that gives each request an id: RESERVE item user ID id.
bool has_id(Words words) {
  constexpr char kLower = 0x20;
  return words.size() >= 5 && words[3].size() == 2 && (words[3][0] | kLower) == 'i' && (words[3][1] | kLower) == 'd';
}

}  // namespace

void Lookahead::look(const Inventory& inventory, std::span<const StepCommand> commands) {
  CHECK(commands.size() <= kBlockCommandsMax);
  if (commands.size() < 2) return;
  std::string_view name;
  const ItemRows* rows = nullptr;
  std::size_t count = 0;
  for (const StepCommand& command : commands) {
    if (command.entry == nullptr || command.entry->id != CommandId::reserve) continue;
    // Nearly always the same item as before.
    if (command.words[1] != name) rows = rows_of(inventory, name = command.words[1]);
    if (rows == nullptr) continue;
    const auto user = UserId::parse(command.words[2]);
    if (!user) continue;
    Asked& asked = asked_[count++] = {rows, rows->ask_user(*user), 0, false};
    if (!has_id(command.words)) continue;
    const auto id = ReservationId::parse(command.words[4]);
    if (id) asked.id = rows->ask_id(*id), asked.has_id = true;
  }
  for (std::size_t i = 0; i < count; ++i) {
    asked_[i].rows->ask_user_cells(asked_[i].user);
    if (asked_[i].has_id) asked_[i].rows->ask_id_cells(asked_[i].id);
  }
}

}  // namespace holdfast
