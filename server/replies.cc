#include "server/replies.h"

#include "server/refusal.h"

#include <algorithm>

namespace holdfast {
namespace {

void write_id(ReplyWriter& reply, const ReservationId& id) {
  const auto text = id.text();
  reply.bulk({text.data(), text.size()});
}

/// Keys with their values, one call a pair.
class Fields {
 public:
  explicit Fields(ReplyWriter& reply) : reply_(reply) {}
  Fields& number(std::string_view key, std::int64_t value) {
    reply_.bulk(key);
    reply_.integer(value);
    return *this;
  }
  Fields& text(std::string_view key, std::string_view value) {
    reply_.bulk(key);
    reply_.bulk(value);
    return *this;
  }
  Fields& id(std::string_view key, const ReservationId& value) {
    reply_.bulk(key);
    write_id(reply_, value);
    return *this;
  }
  Fields& null(std::string_view key) {
    reply_.bulk(key);
    reply_.null();
    return *this;
  }

 private:
  ReplyWriter& reply_;
};

void write_deadline(Fields& fields, const StepContext& context, const Item& item, RowSlot slot, bool remaining) {
  const bool reserved = item.rows->row(slot).state() == ReservationState::reserved;
  const auto deadline = reserved ? item.rows->deadline(slot) : std::nullopt;
  if (!deadline) {
    fields.null("deadline");
    if (remaining) fields.null("remaining");
    return;
  }
  fields.number("deadline", context.unix_ms(*deadline));
  if (remaining) fields.number("remaining", (*deadline - context.now.hold).count());
}

std::string_view stage_name(Stage stage) noexcept {
  return stage == Stage::applied ? "applied" : stage == Stage::durable ? "durable" : "done";
}

std::string_view progress_name(SinkProgress progress) noexcept {
  return progress == SinkProgress::pending ? "pending" : progress == SinkProgress::parked ? "parked" : "acknowledged";
}

std::int64_t signed_number(std::uint64_t number) noexcept { return static_cast<std::int64_t>(number); }

}  // namespace

void write_item(StepContext& context, const Item& item) {
  const ItemDefinition& definition = item.definition;
  context.reply.map(20);
  Fields(context.reply)
      .text("item", item.named->name)
      .number("version", signed_number(item.version.value()))
      .text("state", state_name(item.state))
      .number("total", item.total)
      .number("available", item.counters.available)
      .number("reserved", item.counters.reserved)
      .number("confirmed", item.counters.confirmed)
      .number("held", item.counters.held)
      .number("limit", definition.limit)
      .text("scope", scope_name(definition.scope))
      .number("ttl", definition.ttl.count())
      .number("max-hold", definition.max_hold.count())
      .number("opens-at", to_ms(definition.opens_at))
      .number("closes-at", to_ms(definition.closes_at))
      .number("price", definition.price)
      .text("currency", definition.currency)
      .text("sale", definition.sale)
      .text("product", definition.product)
      .number("sequence", signed_number(item.sequence.value()))
      .number("fenced", item.fenced ? signed_number(item.sequence.value()) : 0);
}

void write_verification(StepContext& context, const Verification& verification) {
  const Item& item = *verification.item;
  context.reply.map(9);
  Fields(context.reply)
      .text("item", item.named->name)
      .number("ok", verification.ok ? 1 : 0)
      .number("total", item.total)
      .number("available", verification.counted.available)
      .number("reserved", verification.counted.reserved)
      .number("confirmed", verification.counted.confirmed)
      .number("held", verification.counted.held)
      .number("rows", signed_number(verification.rows))
      .number("sequence", signed_number(item.sequence.value()));
}

void write_reservation(StepContext& context, const Item& item, RowSlot slot) {
  const Row& row = item.rows->row(slot);
  context.reply.map(11);
  Fields fields(context.reply);
  fields.id("id", row.id)
      .text("item", item.named->name)
      .text("user", item.rows->user(slot).text())
      .number("quantity", item.rows->quantity(slot))
      .text("state", state_name(row.state()))
      .number("created", context.unix_ms(item.rows->created(slot)));
  write_deadline(fields, context, item, slot, true);
  fields.number("sequence", signed_number(row.sequence().value()))
      .text("stage", stage_name(stage_of(context.inventory, item, row)));
  const SinkBoard& board = context.inventory.sinks();
  context.reply.bulk("sinks");
  context.reply.map(board.sinks.size());
  for (const SinkBoard::Entry& sink : board.sinks) {
    fields.text(sink.name, progress_name(progress_with(context.inventory, sink, item, row)));
  }
}

void write_reserve_details(StepContext& context, const Item& item, const ReserveAnswer& answer) {
  const bool success = reply_number(answer.outcome) == 0;
  if (!answer.slot) {
    const Refusal refusal{answer.outcome, item.sequence, item.counters.reserved, item.definition.opens_at};
    return write_refusal(context.reply, refusal, true, context.now.wall);
  }
  context.reply.map(success ? 8 : 6);
  Fields fields(context.reply);
  fields.number("result", success ? item.counters.available : reply_number(answer.outcome))
      .text("reason", reason_word(answer.outcome))
      .number("sequence", signed_number(item.sequence.value()));
  const Row& row = answer.owner->rows->row(*answer.slot);
  fields.id("id", row.id).text("state", state_name(row.state()));
  if (!success) {
    fields.text("item", answer.owner->named->name);
    return;
  }
  fields.number("quantity", item.rows->quantity(*answer.slot)).number("available", item.counters.available);
  write_deadline(fields, context, item, *answer.slot, false);
}

SinkProgress progress_with(const Inventory& inventory, const SinkBoard::Entry& sink, const Item& item, const Row& row) {
  if (!inventory.is_durable(row)) return SinkProgress::pending;
  const auto id = row.id.text();
  return progress_of(sink, row.lsn(), {item.named->name, item.version, {id.data(), id.size()}});
}

Stage stage_of(const Inventory& inventory, const Item& item, const Row& row) {
  if (!inventory.is_durable(row)) return Stage::applied;
  const auto& sinks = inventory.sinks().sinks;
  const bool done = !sinks.empty() && std::all_of(sinks.begin(), sinks.end(), [&](const SinkBoard::Entry& sink) {
    return progress_with(inventory, sink, item, row) != SinkProgress::pending;
  });
  return done ? Stage::done : Stage::durable;
}

}  // namespace holdfast
