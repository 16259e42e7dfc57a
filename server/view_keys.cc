#include "server/view_keys.h"

namespace holdfast {

KeyedItem look_up_key(StepContext& context, std::string_view word) {
  const ViewKey key = parse_view_key(word);
  if (!key.item) return {KeyKind::foreign, nullptr};
  Item* item = context.inventory.find(*key.item, context.now);
  if (item == nullptr) {
    context.rest_on_all();
  } else {
    context.rest_on(*item);
  }
  return {key.kind, item};
}

bool key_exists(const KeyedItem& key) {
  return key.item != nullptr && (key.kind == KeyKind::stock || key.item->rows->live_users() > 0);
}

void refuse_wrong_type(StepContext& context) {
  context.fail(Error(ErrorCode::wrong_type, "Operation against a key holding the wrong kind of value"));
}

void refuse_foreign_key(StepContext& context, std::string_view key) {
  context.fail(Error::format(ErrorCode::err,
                             "cannot write key '{}': the keys are {{item}}:stock, a number, and {{item}}:buyers, which "
                             "RESERVE and RELEASE write",
                             Echo(key).text()));
}

std::optional<Inventory::StockOutcome> write_stock_key(StepContext& context, Words words) {
  const ViewKey key = parse_view_key(words[1]);
  if (key.kind == KeyKind::foreign) return refuse_foreign_key(context, words[1]), std::nullopt;
  if (key.kind == KeyKind::buyers) return refuse_wrong_type(context), std::nullopt;
  const auto write = parse_stock_set(*key.item, words);
  if (!write) return context.fail(write.error()), std::nullopt;
  const auto outcome = context.inventory.set_stock(*write, context.now);
  context.rest_on_all();
  if (!outcome) return context.fail(outcome.error()), std::nullopt;
  return *outcome;
}

}  // namespace holdfast
