// The steps of RESERVE, CONFIRM, RELEASE, REFUND, EXTEND and RESERVATION.
#include "server/replies.h"

#include <fmt/format.h>

#include <algorithm>

namespace holdfast {
namespace {

constexpr std::uint64_t kRowsLookedAtMin = 1024;  // by one RESERVATION LIST with a filter, whatever its COUNT

using VerbFunction = Result<VerbAnswer> (Inventory::*)(Item&, const VerbRequest&, const Now&);

/// The item of a verb and what became of it there; nothing when an error or a refusal has been written.
struct Done {
  const Item* item;
  RowSlot slot;
};

std::optional<Done> run_verb(StepContext& context, CommandId verb, VerbFunction function) {
  const auto request = parse_verb(verb, context.words);
  if (!request) return context.fail(request.error()), std::nullopt;
  Item* item = context.find(request->item);
  if (item == nullptr) return std::nullopt;
  const auto answer = (context.inventory.*function)(*item, *request, context.now);
  context.rest_on(*item);
  if (!answer) return context.fail(answer.error()), std::nullopt;
  context.result.outcome = static_cast<std::uint8_t>(answer->outcome);
  if (answer->outcome != VerbOutcome::done) {
    context.reply.integer(reply_number(answer->outcome));
    return std::nullopt;
  }
  return Done{item, *answer->slot};
}

/// While no sink is registered, what is durable is done.
bool has_reached(const Inventory& inventory, const ReservationWaitRequest& wanted, const Item& item, const Row& row) {
  if (!wanted.sink.empty()) {
    return progress_with(inventory, *inventory.sinks().find(wanted.sink), item, row) != SinkProgress::pending;
  }
  if (wanted.stage == Stage::applied) return true;
  const Stage stage = stage_of(inventory, item, row);
  if (wanted.stage == Stage::done && !inventory.sinks().sinks.empty()) return stage == Stage::done;
  return stage != Stage::applied;
}

}  // namespace

void step_reserve(StepContext& context) {
  const auto request = parse_reserve(context.words);
  if (!request) return context.fail(request.error());
  Item* item = context.find(request->item);
  if (item == nullptr) return;
  const auto answer = context.inventory.reserve(*item, *request, context.now);
  context.result.rests_on = context.inventory.reserve_rests_on(*item);
  // -OVERLOADED tells nothing of the item, and waiting for the disk may be its very reason.
  if (!answer && answer.error().code() == ErrorCode::overloaded) context.result.rests_on = GroupOrdinal();
  if (!answer) return context.fail(answer.error());
  context.result.outcome = static_cast<std::uint8_t>(answer->outcome);
  if (request->details) return write_reserve_details(context, *item, *answer);
  const int refusal = reply_number(answer->outcome);
  context.reply.integer(refusal != 0 ? refusal : item->counters.available);
}

void step_confirm(StepContext& context) {
  if (run_verb(context, CommandId::confirm, &Inventory::confirm)) context.reply.integer(1);
}

void step_release(StepContext& context) {
  const auto done = run_verb(context, CommandId::release, &Inventory::release);
  if (done) context.reply.integer(done->item->counters.available);
}

void step_refund(StepContext& context) {
  const auto done = run_verb(context, CommandId::refund, &Inventory::refund);
  if (done) context.reply.integer(done->item->counters.available);
}

void step_extend(StepContext& context) {
  const auto done = run_verb(context, CommandId::extend, &Inventory::extend);
  if (done) context.reply.integer(context.unix_ms(*done->item->rows->deadline(done->slot)));
}

void step_reservation_get(StepContext& context) {
  const auto request = parse_reservation_get(context.words);
  if (!request) return context.fail(request.error());
  Item* item = context.find(request->item);
  if (item == nullptr) return;
  const auto slot = request->id ? context.inventory.look_up(*item, *request->id, context.now)
                                : context.inventory.look_up(*item, *request->user, context.now);
  context.rest_on(*item);
  if (!slot) return context.fail(slot.error());
  if (!*slot) return context.reply.null();
  write_reservation(context, *item, **slot);
}

void step_reservation_list(StepContext& context) {
  const auto request = parse_reservation_list(context.words);
  if (!request) return context.fail(request.error());
  const Item* item = context.find(request->item);
  if (item == nullptr) return;
  context.rest_on(*item);
  std::vector<RowSlot> found;
  std::uint32_t slot = request->cursor;
  const std::uint64_t end = item->rows->slots_end();
  const std::uint64_t look_at_end = slot + std::max(request->count, kRowsLookedAtMin);
  for (; slot < end && slot < look_at_end && found.size() < request->count; ++slot) {
    const ReservationState state = item->rows->row(RowSlot(slot)).state();
    if (state != ReservationState::none && request->state.value_or(state) == state) found.emplace_back(slot);
  }
  context.reply.array(2);
  context.reply.bulk(fmt::format_int(slot < end ? slot : 0).c_str());
  context.reply.array(found.size());
  for (const RowSlot each : found) write_reservation(context, *item, each);
}

void step_reservation_wait(StepContext& context) {
  const auto request = parse_reservation_wait(context.words);
  if (!request) return context.fail(request.error());
  if (!request->sink.empty() && context.inventory.sinks().find(request->sink) == nullptr) {
    return context.fail(Error::format(ErrorCode::err,
                                      "unknown STAGE '{}': applied, durable, done, or a registered sink",
                                      Echo(request->sink).text()));
  }
  Item* item = context.find(request->item);
  if (item == nullptr) return;
  const auto slot = context.inventory.look_up(*item, request->id, context.now);
  context.rest_on(*item);
  if (!slot) return context.fail(slot.error());
  if (!*slot) return context.reply.null();
  const bool reached = has_reached(context.inventory, *request, *item, item->rows->row(**slot));
  if (!reached && !context.wait_is_over && request->timeout > Millis(0)) {
    context.result.waits = true;
    context.result.wait_timeout = request->timeout;
    return;
  }
  // What is shown says itself how far it has come, so it need not wait for the rest.
  context.result.rests_on = reached ? context.result.rests_on : GroupOrdinal();
  write_reservation(context, *item, **slot);
}

}  // namespace holdfast
