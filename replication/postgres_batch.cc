#include "replication/postgres_batch.h"

#include "protocol/check.h"
#include "protocol/outside_text.h"

#include <fmt/format.h>

namespace holdfast {
namespace {

/// What is parked of a step that was refused. Of an item's change without units nothing is lost, unless the database does
/// not take what it says.
bool can_be_parked(const EventStep& step, ParkReason reason) {
  return step.event->reservation() != nullptr || step.stock_delta != 0 || reason == ParkReason::refused;
}

/// Why nothing of the item is in the tables.
Refusal refusal_of(const KnownItem& item) {
  Refusal refusal = item.refused.value();
  if (refusal.detail.empty()) refusal.detail = "nothing of this item is in the tables";
  return refusal;
}

Refusal no_room(const ItemRoom& room) {
  return {ParkReason::no_room, fmt::format("quantity {}, sold {}", room.quantity, room.sold)};
}

}  // namespace

Result<void> PostgresBatch::apply(std::span<const Event> events) {
  HOLDFAST_TRY(write_journal(events));
  for (const auto piece : split_at_loads(events)) HOLDFAST_TRY(apply_piece(piece));
  return {};
}

Result<void> PostgresBatch::write_journal(std::span<const Event> events) {
  const auto written = tables_.write_journal(events);
  if (!written) return written.error();
  if (*written == events.size()) return {};
  const auto differing = tables_.differing_journal(events);
  if (!differing) return differing.error();
  if (differing->empty()) return {};
  return Error::format(ErrorCode::damaged, "the journal's row {} is not what the log says", Echo(*differing).text());
}

Result<void> PostgresBatch::apply_piece(std::span<const Event> events) {
  for (const Event& event : events) {
    if (event.is(ItemEvent::load)) HOLDFAST_TRY(load(event, Sequence()));
  }
  const auto steps = known_.take(events);
  if (!steps) return steps.error();
  HOLDFAST_TRY(chains_.load(*steps));
  Steps normal;
  std::set<ItemNumber> slow;
  for (const EventStep& step : *steps) {
    if (auto refusal = never_fits(*step.event)) {
      // Of an item without a row only its reservations are worth keeping.
      if (step.event->reservation() == nullptr) continue;
      HOLDFAST_TRY(chains_.park(step, std::move(*refusal)));
      HOLDFAST_TRY(chains_.settle());
      continue;
    }
    if (chains_.open(*step.event) != nullptr) slow.insert(step.event->item->number);
    normal.push_back(step);
  }
  HOLDFAST_TRY(write_items(normal, std::move(slow)));
  HOLDFAST_TRY(chains_.save());
  chains_.clear();
  return save_items();
}

Result<void> PostgresBatch::begin_item(const StartItem& item, WallTime at) {
  Event load;
  load.item = item.facts;
  load.sequence = item.sequence;
  load.at = at;
  load.after = item.counters;
  load.change = ItemChange{ItemEvent::load, false, 0, {}, {}};
  HOLDFAST_TRY(this->load(load, item.sequence));
  const KnownItem& known = known_.at(item.facts->number);
  if (known.refused) return {};
  const auto described = describe(known, at);
  if (!described) return described.error();
  if (described->fits()) return {};
  return Error::format(ErrorCode::unsupported, "the row of {}: {}", outside_text(item.facts->name),
                       described->refusal.detail);
}

Result<void> PostgresBatch::begin_orders(const StartItem& item, std::span<const OrderChange> orders, WallTime at) {
  const KnownItem& known = known_.at(item.facts->number);
  const bool refused = known.refused.has_value();
  const Refusal why = refused ? refusal_of(known) : Refusal{ParkReason::bad_id, "the user is no number"};
  std::vector<OrderChange> fitting;
  for (const OrderChange& order : orders) {
    if (!refused && outside_user_id(tables_.ids(), order.user)) {
      fitting.push_back(order);
    } else {
      begin_parked(order, why, at);
    }
  }
  HOLDFAST_TRY(by_halves(fitting.size(), [&](std::size_t begin, std::size_t count) {
    return begin_rows(item, std::span(fitting).subspan(begin, count), at);
  }));
  HOLDFAST_TRY(chains_.settle());
  HOLDFAST_TRY(chains_.save());
  chains_.clear();
  return {};
}

/// Those for which there is room; the others are parked.
Result<Attempt> PostgresBatch::begin_rows(const StartItem& item, std::span<const OrderChange> orders, WallTime at) {
  const auto row = tables_.lock_item(known_.at(item.facts->number).item_id);
  if (!row) return row.error();
  ItemRoom room{row->quantity, row->sold};
  OrderFold fold;
  ItemSum sum{item.facts, 0, 0, item.sequence, at, false};
  std::vector<const OrderChange*> without_room;
  for (const OrderChange& order : orders) {
    if (room.sold + order.sold_delta() > room.quantity) {
      without_room.push_back(&order);
      continue;
    }
    room.sold += order.sold_delta();
    sum.sold_delta += order.sold_delta();
    fold.inserts.push_back(order);
  }
  fold.items = {std::move(sum)};
  auto trial = fold_.write(fold, known_);
  if (!trial) return trial.error();
  if (!trial->fits() && orders.size() > 1) return Attempt();
  if (!trial->fits()) begin_parked(orders.front(), std::move(trial->refusal), at);
  if (!trial->fits()) return Attempt{1, false};
  for (const OrderChange* order : without_room) begin_parked(*order, no_room(room), at);
  return Attempt{orders.size()};
}

/// One that has ended is on record as resolved: it asks for nothing, and is no difference to reconcile.
void PostgresBatch::begin_parked(const OrderChange& order, Refusal refusal, WallTime at) {
  chains_.begin(begin_chain(order, refusal.reason, std::move(refusal.detail), at));
}

Result<void> PostgresBatch::load(const Event& event, Sequence begins) {
  const std::string name = event.item->name;
  const auto ended = tables_.end_versions(name);
  if (!ended) return ended.error();
  for (const ItemNumber number : *ended) known_.forget(number);
  KnownItem item;
  item.facts = event.item;
  item.total = total(event.after);
  item.sequence = item.begins = begins;
  if (const auto place = kept_.find({outside_text(name), event.item->version}); place != kept_.end()) {
    item.kept = place->second;
  }
  const auto id = outside_item_id(tables_.ids(), name);
  if (!id) {
    item.refused = Refusal{ParkReason::bad_id, ""};
  } else {
    item.item_id = *id;
    HOLDFAST_TRY(write_loaded(item, event));
  }
  const auto added = tables_.add_known(item);
  if (!added) return added.error();
  if (!*added) {
    return Error::format(ErrorCode::damaged,
                         "LSN {} loads version {} of {}, which the tables have already: somebody changed "
                         "the cursor, or restored some of the tables",
                         event.lsn.value(), event.item->version.value(), outside_text(name));
  }
  known_.put(std::move(item));
  return {};
}

/// Makes the item's row, or the next version of it; or says why there is none.
Result<void> PostgresBatch::write_loaded(KnownItem& item, const Event& event) {
  const auto owner = tables_.owner_of(item.item_id);
  if (!owner) return owner.error();
  if (owner->empty() || *owner == outside_text(item.facts->name)) {
    const auto how = row_of_load(item, owner->empty());
    if (!how) return how.error();
    const auto against = *how ? fold_.load(**how, item, event) : Result<std::string>("");
    if (!against) return against.error();
    if (*how && against->empty()) return {};
    item.refused = Refusal{*how ? ParkReason::refused : ParkReason::foreign_row, *against};
  } else {
    item.refused = Refusal{ParkReason::bad_id, ""};
  }
  item.item_id.clear();
  return {};
}

Result<bool> PostgresBatch::claim(ItemNumber number, WallTime at) {
  const KnownItem before = known_.at(number);
  HOLDFAST_TRY(connection_.begin_part());
  auto claimed = try_claim(before, at);
  if (!claimed) return claimed;
  const auto against = connection_.end_part(*claimed);
  if (!against) return against.error();
  const bool has_row = *claimed && against->empty();
  if (!has_row) known_.put(before);
  return has_row;
}

/// False: what was written must be taken back.
Result<bool> PostgresBatch::try_claim(KnownItem item, WallTime at) {
  const ItemNumber number = item.facts->number;
  item.item_id = outside_item_id(tables_.ids(), item.facts->name).value();
  item.refused.reset();
  Event load;
  load.item = item.facts;
  load.sequence = item.sequence;
  load.at = at;
  load.after.available = item.total;
  load.change = ItemChange{ItemEvent::load, false, 0, {}, {}};
  HOLDFAST_TRY(write_loaded(item, load));
  if (item.refused) return false;
  HOLDFAST_TRY(tables_.claim(item));
  known_.put(std::move(item));
  const auto described = describe(known_.at(number), at);
  if (!described) return described.error();
  return described->fits();
}

/// REQUIRES: it has a row.
Result<Trial> PostgresBatch::describe(const KnownItem& item, WallTime at) {
  OrderFold fold;
  fold.items.push_back({item.facts, 0, 0, item.sequence, at, true});
  return fold_.write(fold, known_);
}

/// Nothing when there is a row that is not ours to take. `is_new`: no version of the item is known.
Result<std::optional<RowOfLoad>> PostgresBatch::row_of_load(const KnownItem& item, bool is_new) {
  const auto row = tables_.lock_item(item.item_id);
  if (!row) return row.error();
  std::optional<RowOfLoad> how;
  if (!row->there) {
    how = RowOfLoad::add;
  } else if (is_new && row->ours && row->version == ItemVersion()) {
    how = RowOfLoad::restart;
  } else if (!is_new && row->version < item.facts->version) {
    how = RowOfLoad::next_version;
  } else if (is_new && existing_items_ && !row->ours) {
    how = RowOfLoad::adopt;
  }
  return how;
}

std::optional<Refusal> PostgresBatch::never_fits(const Event& event) const {
  const KnownItem& item = known_.at(event.item->number);
  if (item.refused) return refusal_of(item);
  const auto* const reservation = event.reservation();
  if (reservation != nullptr && !outside_user_id(tables_.ids(), reservation->user)) {
    return Refusal{ParkReason::bad_id, "the user is no number"};
  }
  return std::nullopt;
}

Result<void> PostgresBatch::write_items(const Steps& steps, std::set<ItemNumber> slow) {
  std::map<ItemNumber, Steps> by_item;
  for (const EventStep& step : steps) by_item[step.event->item->number].push_back(step);
  std::vector<Steps> items;
  items.reserve(by_item.size());
  for (auto& [number, of_item] : by_item) items.push_back(std::move(of_item));
  HOLDFAST_TRY(by_halves(items.size(), [&](std::size_t begin, std::size_t count) {
    return write_together(std::span(items).subspan(begin, count), slow);
  }));
  for (const Steps& of_item : items) {
    if (slow.contains(of_item.front().event->item->number)) HOLDFAST_TRY(write_slowly(of_item));
  }
  return {};
}

/// Items of which something does not fit become slow.
Result<Attempt> PostgresBatch::write_together(std::span<const Steps> items, std::set<ItemNumber>& slow) {
  for (;;) {
    Steps together;
    for (const Steps& of_item : items) {
      if (slow.contains(of_item.front().event->item->number)) continue;
      together.insert(together.end(), of_item.begin(), of_item.end());
    }
    const auto fold = fold_steps(together);
    if (!fold) return fold.error();
    const auto trial = fold_.write(*fold, known_);
    if (!trial) return trial.error();
    if (trial->fits()) return Attempt{items.size()};
    if (trial->vague && items.size() > 1) return Attempt();
    slow.insert(trial->unfit.begin(), trial->unfit.end());
  }
}

/// Steps of one item.
Result<void> PostgresBatch::write_slowly(const Steps& steps) {
  HOLDFAST_TRY(by_halves(steps.size(), [&](std::size_t begin, std::size_t count) {
    return write_planned(std::span(steps).subspan(begin, count));
  }));
  // Its row has seen what is parked, too. Whatever is said against that was said before.
  const KnownItem& item = known_.at(steps.front().event->item->number);
  OrderFold fold;
  fold.items.push_back({item.facts, 0, 0, item.sequence, steps.back().event->at, false});
  HOLDFAST_TRY(fold_.write(fold, known_));
  return {};
}

Result<Attempt> PostgresBatch::write_planned(std::span<const EventStep> steps) {
  const KnownItem& item = known_.at(steps.front().event->item->number);
  const auto row = tables_.lock_item(item.item_id);
  if (!row) return row.error();
  const auto no_row = PostgresFold::why_no_row(*row, item);
  const auto room = no_row ? std::nullopt : std::optional(ItemRoom{row->quantity, row->sold});
  const auto plan = plan_steps(steps, room, [this](const Event& event) { return chains_.open(event); });
  Steps fitting;
  for (std::size_t i = 0; i < plan.size(); ++i) {
    if (plan[i].fate == StepFate::write) fitting.push_back(steps[i]);
  }
  const auto fold = fold_steps(fitting);
  if (!fold) return fold.error();
  auto trial = fold_.write(*fold, known_);
  if (!trial) return trial.error();
  if (trial->fits()) return carry_out(steps, plan, no_row);
  if (plan.size() > 1) return Attempt();
  ++singly_;
  const EventStep& step = steps.front();
  if (can_be_parked(step, trial->refusal.reason)) HOLDFAST_TRY(chains_.park(step, std::move(trial->refusal)));
  HOLDFAST_TRY(chains_.settle());
  return Attempt{1, false};
}

/// What is left to do when those that fit are written.
Result<Attempt> PostgresBatch::carry_out(std::span<const EventStep> steps, std::span<const PlannedStep> plan,
                                         const std::optional<Refusal>& no_row) {
  for (std::size_t i = 0; i < plan.size(); ++i) {
    const EventStep& step = steps[i];
    if (plan[i].fate == StepFate::write) continue;
    Refusal refusal = no_row.value_or(no_room(plan[i].room));
    const bool kept = plan[i].fate == StepFate::follow || can_be_parked(step, refusal.reason);
    if (kept) HOLDFAST_TRY(chains_.park(step, std::move(refusal)));
  }
  HOLDFAST_TRY(chains_.settle());
  return Attempt{plan.size()};
}

Result<void> PostgresBatch::save_items() {
  std::vector<const KnownItem*> items;
  for (const ItemNumber number : known_.take_touched()) items.push_back(&known_.at(number));
  HOLDFAST_TRY(tables_.save_known(items));
  for (const KnownItem* item : items) {
    if (item->facts->dropped) known_.forget(item->facts->number);
  }
  return {};
}

}  // namespace holdfast
