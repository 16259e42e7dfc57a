// The steps of ITEM.
#include "server/glob.h"
#include "server/replies.h"

#include <fmt/format.h>

namespace holdfast {
namespace {

constexpr std::string_view kAllItems = "*";
constexpr std::uint64_t kNamesLookedAtMin = 1024;  // by one ITEM LIST with a filter, whatever its COUNT

void answer_ok(StepContext& context, const Result<void>& result) {
  if (!result) return context.fail(result.error());
  context.reply.status("OK");
}

/// The item named by word 2; nothing when an error has been written.
Item* item_of(StepContext& context) {
  const auto name = ItemName::parse(context.words[2]);
  if (!name) return context.fail(name.error()), nullptr;
  return context.find(*name);
}

void move_item(StepContext& context, ItemEvent step) {
  Item* item = item_of(context);
  if (item == nullptr) return;
  const auto moved = context.inventory.move(*item, step, context.now);
  context.rest_on(*item);
  answer_ok(context, moved);
}

void load_item(StepContext& context, bool create) {
  const auto request = parse_load(create, context.words);
  if (!request) return context.fail(request.error());
  const auto loaded = context.inventory.load(*request, context.now);
  context.rest_on_all();
  answer_ok(context, loaded);
}

}  // namespace

void step_item_load(StepContext& context) { load_item(context, false); }
void step_item_create(StepContext& context) { load_item(context, true); }
void step_item_ready(StepContext& context) { move_item(context, ItemEvent::ready); }
void step_item_open(StepContext& context) { move_item(context, ItemEvent::open); }
void step_item_pause(StepContext& context) { move_item(context, ItemEvent::pause); }
void step_item_close(StepContext& context) { move_item(context, ItemEvent::close); }

void step_item_drop(StepContext& context) {
  const auto name = ItemName::parse(context.words[2]);
  if (!name) return context.fail(name.error());
  const auto confirmed_too = parse_drop(context.words);
  if (!confirmed_too) return context.fail(confirmed_too.error());
  context.rest_on_all();
  Item* item = context.inventory.find(*name, context.now);
  if (item == nullptr) return context.reply.integer(0);
  const auto dropped = context.inventory.drop(*item, *confirmed_too, context.now);
  context.rest_on_all();
  if (!dropped) return context.fail(dropped.error());
  context.reply.integer(1);
}

void step_item_get(StepContext& context) {
  const Item* item = item_of(context);
  if (item == nullptr) return;
  context.rest_on(*item);
  write_item(context, *item);
}

void step_item_list(StepContext& context) {
  const auto request = parse_item_list(context.words);
  if (!request) return context.fail(request.error());
  std::vector<std::string_view> found;
  const ShardPlace& place = context.inventory.place();
  std::size_t position = place.position(request->cursor);
  const std::size_t end = context.inventory.positions_end();
  const std::size_t look_at_max = std::max(request->count, kNamesLookedAtMin);
  for (std::size_t looked_at = 0; position < end && looked_at < look_at_max && found.size() < request->count;
       ++position, ++looked_at) {
    const Item* item = context.inventory.at_position(position, context.now);
    if (item == nullptr || request->state.value_or(item->state) != item->state) continue;
    if (request->pattern && !glob_matches(*request->pattern, item->named->name)) continue;
    found.push_back(item->named->name);
  }
  context.rest_on_all();
  context.reply.array(2);
  context.reply.bulk(fmt::format_int(place.cursor(position, end)).c_str());
  context.reply.array(found.size());
  for (const auto name : found) context.reply.bulk(name);
}

void step_item_adjust(StepContext& context) {
  const auto request = parse_adjust(context.words);
  if (!request) return context.fail(request.error());
  Item* item = context.find(request->item);
  if (item == nullptr) return;
  const auto adjusted = context.inventory.adjust(*item, *request, context.now);
  context.rest_on(*item);
  if (!adjusted) return context.fail(adjusted.error());
  context.reply.integer(item->counters.available);
}

void step_item_set(StepContext& context) {
  const auto request = parse_item_set(context.words);
  if (!request) return context.fail(request.error());
  Item* item = context.find(request->item);
  if (item == nullptr) return;
  const auto set = context.inventory.set_field(*item, *request, context.now);
  context.rest_on(*item);
  answer_ok(context, set);
}

void step_item_returns(StepContext& context) {
  const auto held = parse_returns(context.words);
  if (!held) return context.fail(held.error());
  if (context.words[2] == kAllItems) {
    const auto set = context.inventory.set_all_returns(*held, context.now);
    context.rest_on_all();
    return answer_ok(context, set);
  }
  Item* item = item_of(context);
  if (item == nullptr) return;
  const auto set = context.inventory.set_returns(*item, *held, context.now);
  context.rest_on(*item);
  answer_ok(context, set);
}

void step_item_verify(StepContext& context) {
  if (context.words[2] != kAllItems) {
    const Item* item = item_of(context);
    if (item == nullptr) return;
    context.rest_on(*item);
    return write_verification(context, context.inventory.verify(*item));
  }
  std::vector<Verification> broken;
  for (std::size_t position = 0; position < context.inventory.positions_end(); ++position) {
    const Item* item = context.inventory.at_position(position, context.now);
    if (item == nullptr) continue;
    const Verification found = context.inventory.verify(*item);
    if (!found.ok) broken.push_back(found);
  }
  context.rest_on_all();
  context.reply.array(broken.size());
  for (const Verification& found : broken) write_verification(context, found);
}

void step_item_unfence(StepContext& context) {
  const auto expected = parse_unfence(context.words);
  if (!expected) return context.fail(expected.error());
  Item* item = item_of(context);
  if (item == nullptr) return;
  const auto unfenced = context.inventory.unfence(*item, *expected, context.now);
  context.rest_on(*item);
  answer_ok(context, unfenced);
}

}  // namespace holdfast
