#include "replication/postgres_batch.h"

#include "protocol/check.h"
#include "protocol/outside_text.h"

#include <fmt/format.h>

namespace holdfast {
namespace {

constexpr const char* kSavepoint = "SAVEPOINT fold";
constexpr const char* kRelease = "RELEASE SAVEPOINT fold";
constexpr const char* kBack = "ROLLBACK TO SAVEPOINT fold; RELEASE SAVEPOINT fold";

ParkReason reason_of(std::string_view refusal) {
  if (refusal.find("flash_sale_order_live") != std::string_view::npos) return ParkReason::duplicate_live;
  if (refusal.find("flash_sale_item_sold") != std::string_view::npos) return ParkReason::no_room;
  return ParkReason::foreign_row;
}

ChainName name_of(const Event& event) { return {event.item->number, chain_key(event)}; }

bool can_be_parked(const EventStep& step) { return step.event->reservation() != nullptr || step.stock_delta != 0; }

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
  HOLDFAST_TRY(load_open_chains(*steps));
  Steps normal;
  std::set<ItemNumber> slow;
  for (const EventStep& step : *steps) {
    if (auto refusal = never_fits(*step.event)) {
      // Of an item without a row only its reservations are worth keeping.
      if (step.event->reservation() != nullptr) HOLDFAST_TRY(park(step, std::move(*refusal)));
      continue;
    }
    if (open_chain(*step.event) != nullptr) slow.insert(step.event->item->number);
    normal.push_back(step);
  }
  HOLDFAST_TRY(write_together(normal, std::move(slow)));
  HOLDFAST_TRY(save_parked());
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
  const KnownItem* const known = &known_.at(item.facts->number);
  if (!known->refused.empty()) return {};
  return tables_.describe_items(std::span(&known, 1));
}

Result<void> PostgresBatch::begin_orders(const StartItem& item, std::span<const OrderChange> orders, WallTime at) {
  const KnownItem& known = known_.at(item.facts->number);
  OrderFold fold;
  ItemSum sum{item.facts, 0, 0, item.sequence, at};
  for (const OrderChange& order : orders) {
    const bool fits = known.refused.empty() && outside_user_id(tables_.ids(), order.user).has_value();
    const auto reason = parse_reason(known.refused).value_or(ParkReason::bad_id);
    if (!fits) {
      begin_parked(order, Refusal{reason, "it was there when the tables began"}, at);
      continue;
    }
    sum.sold_delta += order.sold_delta();
    fold.inserts.push_back(order);
  }
  if (!fold.inserts.empty()) HOLDFAST_TRY(begin_rows(std::move(fold), std::move(sum), at));
  return save_parked();
}

/// All at once, or, when the item has no room for all, one by one.
Result<void> PostgresBatch::begin_rows(OrderFold fold, ItemSum sum, WallTime at) {
  fold.items = {sum};
  const auto trial = try_fold(fold);
  if (!trial) return trial.error();
  if (trial->fits()) return {};
  for (const OrderChange& order : fold.inserts) {
    sum.sold_delta = order.sold_delta();
    OrderFold single;
    single.inserts = {order};
    single.items = {sum};
    auto tried = try_fold(single);
    if (!tried) return tried.error();
    if (!tried->fits()) begin_parked(order, std::move(tried->refusal), at);
  }
  return {};
}

void PostgresBatch::begin_parked(const OrderChange& order, Refusal refusal, WallTime at) {
  if (!is_live(order.to)) return;
  ParkedChain chain = begin_chain(order, refusal.reason, std::move(refusal.detail), at);
  note_parked(chain);
  chains_.emplace(ChainName(chain.number, chain.key), std::move(chain));
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
  const auto id = outside_item_id(tables_.ids(), name);
  if (!id) {
    item.refused = reason_name(ParkReason::bad_id);
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
  const auto row = tables_.lock_item(item.item_id);
  if (!row) return row.error();
  if (!owner->empty() && *owner != outside_text(item.facts->name)) {
    item.refused = reason_name(ParkReason::bad_id);
  } else if (!row->there) {
    return tables_.add_item(item, event);
  } else if (owner->empty() && row->ours && row->version == ItemVersion()) {
    const auto kept = kept_.find({item.item_id, item.facts->version});
    return tables_.restart_item(item, event, kept == kept_.end() ? KeptRow() : kept->second);
  } else if (!owner->empty() && row->version < item.facts->version) {
    return tables_.next_version(item, event);
  } else if (owner->empty() && existing_items_ && !row->ours) {
    return tables_.adopt_item(item, event);
  } else {
    item.refused = reason_name(ParkReason::foreign_row);
  }
  item.item_id.clear();
  return {};
}

Result<bool> PostgresBatch::claim(ItemNumber number, WallTime at) {
  KnownItem item = known_.at(number);
  item.item_id = outside_item_id(tables_.ids(), item.facts->name).value();
  item.refused.clear();
  Event load;
  load.item = item.facts;
  load.sequence = item.sequence;
  load.at = at;
  load.after.available = item.total;
  load.change = ItemChange{ItemEvent::load, false, 0, {}, {}};
  HOLDFAST_TRY(write_loaded(item, load));
  if (!item.refused.empty()) return false;
  HOLDFAST_TRY(tables_.claim(item));
  known_.put(std::move(item));
  const KnownItem* const known = &known_.at(number);
  HOLDFAST_TRY(tables_.describe_items(std::span(&known, 1)));
  return true;
}

std::optional<PostgresBatch::Refusal> PostgresBatch::never_fits(const Event& event) const {
  const KnownItem& item = known_.at(event.item->number);
  if (!item.refused.empty()) {
    return Refusal{parse_reason(item.refused).value_or(ParkReason::foreign_row),
                   "nothing of this item is in the tables"};
  }
  const auto* const reservation = event.reservation();
  if (reservation != nullptr && !outside_user_id(tables_.ids(), reservation->user)) {
    return Refusal{ParkReason::bad_id, "the user is no number"};
  }
  return std::nullopt;
}

Result<void> PostgresBatch::write_together(const Steps& steps, std::set<ItemNumber> slow) {
  for (;;) {
    Steps fast;
    for (const EventStep& step : steps) {
      if (!slow.contains(step.event->item->number)) fast.push_back(step);
    }
    const auto fold = fold_steps(fast);
    if (!fold) return fold.error();
    const auto trial = try_fold(*fold);
    if (!trial) return trial.error();
    if (trial->fits()) break;
    slow.insert(trial->unfit.begin(), trial->unfit.end());
  }
  std::set<ItemNumber> described;
  for (const EventStep& step : steps) {
    const bool is_slow = slow.contains(step.event->item->number);
    if (is_slow) HOLDFAST_TRY(write_singly(step));
    if (is_slow || step.event->item_change() != nullptr) described.insert(step.event->item->number);
  }
  std::vector<const KnownItem*> items;
  items.reserve(described.size());
  for (const ItemNumber number : described) items.push_back(&known_.at(number));
  return tables_.describe_items(items);
}

Result<void> PostgresBatch::write_singly(const EventStep& step) {
  ++figures_.singly;
  if (ParkedChain* const chain = open_chain(*step.event)) return follow(*chain, step);
  const auto fold = fold_steps(std::span(&step, 1));
  if (!fold) return fold.error();
  const auto trial = try_fold(*fold);
  if (!trial) return trial.error();
  if (trial->fits() || !can_be_parked(step)) return {};
  return park(step, trial->refusal);
}

/// All of the fold, or nothing.
Result<PostgresBatch::Trial> PostgresBatch::try_fold(const OrderFold& fold) {
  if (fold.empty()) return Trial();
  HOLDFAST_TRY(connection_.execute(kSavepoint));
  auto trial = write_fold(fold);
  if (!trial) return trial.error();
  HOLDFAST_TRY(connection_.execute(trial->fits() ? kRelease : kBack));
  if (trial->unfit.size() != 1 || trial->refusal.reason != ParkReason::no_room) return trial;
  for (const ItemSum& sum : fold.items) {
    if (!trial->unfit.contains(sum.item->number)) continue;
    auto refusal = why_no_sum(sum);
    if (!refusal) return refusal.error();
    trial->refusal = std::move(*refusal);
  }
  return trial;
}

Result<PostgresBatch::Trial> PostgresBatch::write_fold(const OrderFold& fold) {
  for (const auto* changes : {&fold.updates, &fold.resumes}) {
    const auto written = tables_.update_orders(*changes, known_);
    if (!written) return written.error();
    if (!written->fits()) {
      return judge(*written, fold, ParkReason::foreign_row, "the order's row is gone, or is not as the log says");
    }
  }
  const auto inserted = tables_.insert_orders(fold.inserts, known_);
  if (!inserted) return inserted.error();
  if (!inserted->fits()) return judge(*inserted, fold, ParkReason::foreign_row, "the order has a row already");
  const auto summed = tables_.sum_items(fold.items, known_);
  if (!summed) return summed.error();
  return judge(*summed, fold, ParkReason::no_room, "the item's row does not take it");
}

PostgresBatch::Trial PostgresBatch::judge(const WriteResult& written, const OrderFold& fold, ParkReason reason,
                                          std::string_view detail) const {
  Trial trial;
  if (!written.refused.empty()) {
    // The statement does not say which row it was.
    for (const ItemSum& sum : fold.items) trial.unfit.insert(sum.item->number);
    trial.refusal = {reason_of(written.refused), written.refused};
    return trial;
  }
  trial.unfit.insert(written.unfit.begin(), written.unfit.end());
  trial.refusal = {reason, std::string(detail)};
  return trial;
}

Result<PostgresBatch::Refusal> PostgresBatch::why_no_sum(const ItemSum& sum) {
  const KnownItem& item = known_.at(sum.item->number);
  const auto row = tables_.lock_item(item.item_id);
  if (!row) return row.error();
  if (!row->there) return Refusal{ParkReason::foreign_row, "the item's row is gone"};
  if (row->version != item.facts->version) {
    return Refusal{ParkReason::foreign_row, fmt::format("the item's row has version {}", row->version.value())};
  }
  return Refusal{ParkReason::no_room, fmt::format("quantity {}, sold {}", row->quantity, row->sold)};
}

Result<void> PostgresBatch::load_open_chains(std::span<const EventStep> steps) {
  if (!parking_) return {};
  std::set<ChainName> names;
  for (const EventStep& step : steps) {
    if (step.event->reservation() != nullptr) names.insert(name_of(*step.event));
  }
  auto chains = load_chains(connection_, std::vector<ChainName>(names.begin(), names.end()));
  if (!chains) return chains.error();
  for (ParkedChain& chain : *chains) chains_.emplace(ChainName(chain.number, chain.key), std::move(chain));
  return {};
}

ParkedChain* PostgresBatch::open_chain(const Event& event) {
  if (chains_.empty() || event.reservation() == nullptr) return nullptr;
  const auto place = chains_.find(name_of(event));
  return place == chains_.end() || !place->second.parked ? nullptr : &place->second;
}

Result<void> PostgresBatch::park(const EventStep& step, Refusal refusal) {
  if (ParkedChain* const chain = open_chain(*step.event)) return follow(*chain, step);
  if (!can_be_parked(step)) return {};
  const ChainName name = name_of(*step.event);
  // One that has resolved itself in this batch stays on record.
  if (chains_.contains(name)) HOLDFAST_TRY(save_parked());
  ParkedChain chain = begin_chain(step, refusal.reason, std::move(refusal.detail));
  parking_ = true;
  note_parked(chain);
  return settle(chains_.emplace(name, std::move(chain)).first->second);
}

void PostgresBatch::note_parked(const ParkedChain& chain) {
  ++figures_.parked;
  alarms_.try_emplace(chain.number,
                      fmt::format("item {}: {} is parked, {}: {}", outside_text(known_.at(chain.number).facts->name),
                                  chain.key, reason_name(chain.reason), chain.detail));
}

Result<void> PostgresBatch::follow(ParkedChain& chain, const EventStep& step) {
  HOLDFAST_TRY(follow_chain(chain, step));
  return settle(chain);
}

/// A chain whose reservation holds no units any more asks for no room: it resolves itself, with a row where that is possible.
Result<void> PostgresBatch::settle(ParkedChain& chain) {
  if (!chain.ended()) return {};
  const KnownItem& item = known_.at(chain.number);
  if (!item.refused.empty()) {
    chain.parked = false;
    return {};
  }
  OrderFold fold = fold_chain(chain, item.facts);
  if (chain.reason != ParkReason::bad_id) {
    const auto trial = try_fold(fold);
    if (!trial) return trial.error();
    chain.parked = !trial->fits();
    if (!chain.parked) return {};
  }
  // Nothing of it is in the tables: without a row of its own only what was written off is left to do.
  if (chain.change->from) return {};
  if (chain.stock_delta == 0) {
    chain.parked = false;
    return {};
  }
  fold.inserts.clear();
  const auto trial = try_fold(fold);
  if (!trial) return trial.error();
  chain.parked = !trial->fits();
  return {};
}

Result<void> PostgresBatch::save_parked() {
  std::vector<const ParkedChain*> chains;
  for (const auto& [name, chain] : chains_) {
    chains.push_back(&chain);
    if (!chain.parked) ++figures_.resolved;
  }
  HOLDFAST_TRY(save_chains(connection_, chains, known_));
  std::erase_if(chains_, [](const auto& entry) { return !entry.second.parked; });
  return {};
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
