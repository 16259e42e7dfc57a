// Keys of the Redis view against the inventory: {item}:stock exists with its item, {item}:buyers while somebody has a live
// reservation. Used by the steps.
#pragma once

#include "server/step_context.h"

namespace holdfast {

/// A key and the item it names; no item when the key does not exist for that reason.
struct KeyedItem {
  KeyKind kind;
  Item* item;
};

/// Finds it; the reply then rests on what was found.
KeyedItem look_up_key(StepContext& context, std::string_view word);
bool key_exists(const KeyedItem& key);
/// -WRONGTYPE
void refuse_wrong_type(StepContext& context);
/// A write to a key that is of neither kind.
void refuse_foreign_key(StepContext& context, std::string_view key);
/// SET's words against the key in word 1; nothing when an error has been written.
std::optional<Inventory::StockOutcome> write_stock_key(StepContext& context, Words words);

}  // namespace holdfast
