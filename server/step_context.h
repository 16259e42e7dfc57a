// What the step of one command works with, and the declarations of all steps, made from the table: one without a
// definition does not link. Not for others than the steps.
#pragma once

#include "server/step.h"

namespace holdfast {

struct StepContext {
  Inventory& inventory;
  Words words;
  const Now& now;
  ReplyWriter& reply;
  bool wait_is_over = false;
  StepResult result;

  /// The item; if there is none, says so in the reply.
  Item* find(ItemName name) {
    Item* item = inventory.find(name, now);
    if (item == nullptr) return fail(Inventory::no_item(name)), rest_on_all(), nullptr;
    result.item_index = item->index;
    result.item = item->number;
    return item;
  }
  void fail(const Error& error) { reply.error(error); }
  void rest_on(const Item& item) { result.rests_on = inventory.rests_on(item); }
  void rest_on_all() { result.rests_on = inventory.all_rest_on(); }
  /// Hold time as people read it: Unix milliseconds.
  std::int64_t unix_ms(HoldTime time) const noexcept { return to_ms(now.wall) + (time - now.hold).count(); }
};

#define HOLDFAST_STEP(id, ...) void step_##id(StepContext& context);
#define HOLDFAST_SESSION(id, ...)
#include "protocol/commands.def"
#undef HOLDFAST_STEP
#undef HOLDFAST_SESSION

}  // namespace holdfast
