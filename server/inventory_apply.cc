// Applying records: the one way in which state changes, for steps that have just been decided and for records that the
// log's reader brings. What comes from the log is checked against the state first, since nobody knows who wrote it.
#include "server/inventory.h"

namespace holdfast {
namespace {

Error misfit(const RecordStamp& stamp, std::string_view what) {
  return Error::format(ErrorCode::damaged, "record {} of item number {} sequence {}: {}", stamp.lsn.value(),
                       stamp.item.value(), stamp.sequence.value(), what);
}

ReservationState state_before(ReservationEvent event) noexcept {
  switch (event) {
    case ReservationEvent::reserve:
      return ReservationState::none;
    case ReservationEvent::confirm:
    case ReservationEvent::release:
    case ReservationEvent::expire:
    case ReservationEvent::extend:
      return ReservationState::reserved;
    case ReservationEvent::resume:
      return ReservationState::expired;
    case ReservationEvent::refund:
      return ReservationState::confirmed;
  }
  return ReservationState::none;
}

/// Ten thousand years: times are added to without looking.
constexpr HoldTime kHoldTimeMax{std::chrono::hours(24) * 3'652'500};
constexpr WallTime kWallTimeMax{Millis(std::int64_t{1} << 53)};

/// The state after an event in this state; nothing where the event cannot be.
std::optional<ItemState> state_after(ItemEvent event, ItemState from) noexcept {
  switch (event) {
    case ItemEvent::load:
      return std::nullopt;
    case ItemEvent::ready:
      return from == ItemState::draft ? std::optional(ItemState::ready) : std::nullopt;
    case ItemEvent::open:
      return from == ItemState::ready || from == ItemState::paused ? std::optional(ItemState::open) : std::nullopt;
    case ItemEvent::pause:
      return from == ItemState::open ? std::optional(ItemState::paused) : std::nullopt;
    case ItemEvent::close:
      return from != ItemState::closed ? std::optional(ItemState::closed) : std::nullopt;
    case ItemEvent::drop:
    case ItemEvent::adjust:
    case ItemEvent::set:
    case ItemEvent::stock:
    case ItemEvent::returns:
    case ItemEvent::fence:
    case ItemEvent::unfence:
      return from;
  }
  return std::nullopt;
}

}  // namespace

/// Whether rows and trees can keep what stands in the stamp.
bool Inventory::is_storable(const RecordStamp& stamp) noexcept {
  return stamp.lsn.value() <= Row::kLsnMax && stamp.hold >= HoldTime() && stamp.hold <= kHoldTimeMax &&
         stamp.sequence.value() <= kSequenceMax && stamp.item <= kItemNumberMax;
}

/// Whether LOAD or SET could have made it.
bool Inventory::is_valid(const ItemDefinition& definition) noexcept {
  const auto in_range = [](auto value, auto low, auto high) { return value >= low && value <= high; };
  return in_range(definition.stock, 0, kStockMax) && in_range(definition.limit, 0, kStockMax) &&
         in_range(definition.price, 0, kStockMax) && in_range(definition.scope, LimitScope::item, LimitScope::sale) &&
         in_range(definition.ttl, Millis(1), definition.max_hold) && definition.max_hold <= kHoldMax &&
         in_range(definition.opens_at, WallTime(), kWallTimeMax) &&
         in_range(definition.closes_at, WallTime(), kWallTimeMax) && definition.currency.size() <= kCurrencyBytesMax &&
         definition.sale.size() <= kLabelBytesMax && definition.product.size() <= kLabelBytesMax;
}

RowSlot Inventory::apply(Item& item, const std::optional<RowSlot>& slot, const RecordStamp& stamp,
                         const ReservationRecord& record) {
  ItemRows& rows = *item.rows;
  RowSlot changed = slot.value_or(RowSlot());
  const auto end = [&](ReservationState state) {
    if (item.sale != nullptr) item.sale->remove(record.user, item.number, changed, record.quantity.value());
    rows.end(changed, state, stamp.hold, stamp.sequence);
    wake_at(item, rows.ended_count() > ended_max(item) ? stamp.hold : stamp.hold + settings_.ended_retention);
  };
  switch (record.event) {
    case ReservationEvent::reserve:
      changed =
          rows.reserve({record.id, record.user, record.quantity.value(), stamp.hold, record.deadline, record.exclusive},
                       stamp.sequence);
      break;
    case ReservationEvent::confirm:
      rows.confirm(changed, stamp.sequence);
      break;
    case ReservationEvent::resume:
      rows.resume(changed, record.exclusive, stamp.sequence);
      break;
    case ReservationEvent::release:
      end(ReservationState::released);
      break;
    case ReservationEvent::expire:
      end(ReservationState::expired);
      break;
    case ReservationEvent::refund:
      end(ReservationState::refunded);
      break;
    case ReservationEvent::extend:
      rows.extend(changed, *record.deadline, stamp.sequence);
      break;
  }
  const bool became_live = record.event == ReservationEvent::reserve || record.event == ReservationEvent::resume;
  if (became_live && item.sale != nullptr) {
    item.sale->add(record.user, item.number, changed, record.quantity.value());
  }
  if (became_live) views_.became_live(item, record.user, record.id);
  if (record.deadline) wake_at(item, *record.deadline);
  item.counters = record.after;
  if (record.write_off) item.total -= record.quantity.value();
  return changed;
}

void Inventory::apply(Item& item, const ItemRecord& record) {
  if (record.event == ItemEvent::drop) {
    item.named->version = item.version;
    remove_item(item);
    return;
  }
  if (record.event == ItemEvent::adjust) item.adjusts.add(record.adjust_id, record.delta);
  take_over(item, record);
}

/// What every item record carries becomes the item's. A fence says nothing of the counters: they are what is in doubt.
void Inventory::take_over(Item& item, const ItemRecord& record) {
  if (item.fenced != record.fenced) fenced_count_ += record.fenced ? 1 : std::uint64_t(-1);
  const bool was_fenced = item.fenced;
  item.fenced = record.fenced;
  item.state = record.state;
  item.returns_held = record.returns_held;
  item.definition = record.definition;
  if (record.event != ItemEvent::fence) {
    item.counters = record.after;
    item.total = record.total;
  }
  schedule_window(item);
  if (was_fenced || item.fenced) schedule(item);
}

bool Inventory::times_fit(const Item& item, std::optional<RowSlot> slot, const RecordStamp& stamp,
                          const ReservationRecord& record) {
  const ItemRows& rows = *item.rows;
  if (stamp.hold < rows.base()) return false;
  const bool is_new = record.event == ReservationEvent::reserve;
  if (is_new && !rows.fits(stamp.hold)) return false;
  if (!record.deadline) return record.event != ReservationEvent::extend;
  if (*record.deadline <= stamp.hold || !rows.fits(*record.deadline)) return false;
  return is_new || (record.event == ReservationEvent::extend &&
                    rows.deadline(*slot).value_or(HoldTime::max()) < *record.deadline);
}

Result<void> Inventory::check_reservation(const Item& item, std::optional<RowSlot> slot, const RecordStamp& stamp,
                                          const ReservationRecord& record) const {
  if (record.event < ReservationEvent::reserve || record.event > ReservationEvent::extend) {
    return misfit(stamp, "an event that does not exist");
  }
  if (item.fenced) return misfit(stamp, "a change of an item that is fenced");
  const auto state = slot ? item.rows->row(*slot).state() : ReservationState::none;
  if (state != state_before(record.event)) {
    return misfit(stamp, slot ? "the reservation is not in the state that this change starts from"
                              : "a change of a reservation that was never made");
  }
  if (record.quantity.value() < 1 || record.quantity.value() > kStockMax) return misfit(stamp, "quantity out of range");
  if (slot && (!item.rows->is_user(*slot, record.user) || item.rows->quantity(*slot) != record.quantity.value())) {
    return misfit(stamp, "user or quantity is not the reservation's");
  }
  if (!times_fit(item, slot, stamp, record))
    return misfit(stamp, "a time that is missing, out of place or out of range");
  const bool units_return = record.event == ReservationEvent::release || record.event == ReservationEvent::refund;
  if (record.write_off && !units_return) return misfit(stamp, "a write-off of what does not come back");
  const std::int64_t total = item.total - (record.write_off ? record.quantity.value() : 0);
  if (record.after != after(item, record.event, record.quantity.value(), record.write_off) ||
      !lawful(record.after, total)) {
    return misfit(stamp, "the counters after it are not what the change makes of those before");
  }
  return {};
}

Result<void> Inventory::on_reservation(const RecordStamp& stamp, const ReservationRecord& record) {
  Item* item = find_number(stamp.item);
  if (item == nullptr) return misfit(stamp, "no such item is loaded");
  if (!is_storable(stamp)) return misfit(stamp, "a stamp out of range");
  if (stamp.sequence != item->sequence.next()) return misfit(stamp, "the item's sequence has a gap or a repetition");
  const auto slot = item->rows->find(record.id);
  HOLDFAST_TRY(check_reservation(*item, slot, stamp, record));
  const RowSlot changed = apply(*item, slot, stamp, record);
  note_change(*item, stamp.sequence, GroupOrdinal());
  item->rows->set_lsn(changed, stamp.lsn);
  return {};
}

/// What an item record may leave behind, given what is there.
Result<void> Inventory::check_item(const Item& item, const RecordStamp& stamp, const ItemRecord& record) const {
  if (!is_storable(stamp)) return misfit(stamp, "a stamp out of range");
  if (stamp.sequence != item.sequence.next()) return misfit(stamp, "the item's sequence has a gap or a repetition");
  if (record.name != item.named->name || record.version != item.version) return misfit(stamp, "another item's name");
  if (record.state != state_after(record.event, item.state)) return misfit(stamp, "a state that does not follow");
  if (record.fenced != (record.event == ItemEvent::fence) || item.fenced != (record.event == ItemEvent::unfence)) {
    return misfit(stamp, "a fence out of place");
  }
  if (record.returns_held != item.returns_held && record.event != ItemEvent::returns) {
    return misfit(stamp, "returns held or freed out of place");
  }
  const bool changes_definition = record.event == ItemEvent::set || record.event == ItemEvent::stock;
  if (record.definition != item.definition &&
      (!changes_definition || record.definition.scope != item.definition.scope || !is_valid(record.definition))) {
    return misfit(stamp, "a definition out of place or out of range");
  }
  if (record.event == ItemEvent::fence) return {};
  Counters expected = item.counters;
  std::int64_t total = item.total;
  if (record.event == ItemEvent::adjust || record.event == ItemEvent::stock) {
    if (record.delta > kStockMax || record.delta < -kStockMax) return misfit(stamp, "delta out of range");
    expected.available += record.delta;
    total += record.delta;
  }
  if (record.event == ItemEvent::returns && !record.returns_held) {
    expected.available += expected.held;
    expected.held = 0;
  }
  if (record.after != expected || record.total != total || !lawful(record.after, record.total)) {
    return misfit(stamp, "the counters after it are not what the change makes of those before");
  }
  if (record.event == ItemEvent::adjust && item.adjusts.find(record.adjust_id)) {
    return misfit(stamp, "an ADJUST that was made before");
  }
  if (record.event == ItemEvent::drop && item.counters.reserved > 0)
    return misfit(stamp, "a DROP while units are reserved");
  return {};
}

Result<void> Inventory::on_item(const RecordStamp& stamp, const ItemRecord& record) {
  if (record.event == ItemEvent::load) {
    HOLDFAST_TRY(check_load(stamp, record));
    Item& item = apply_load(stamp, record);
    note_change(item, stamp.sequence, GroupOrdinal());
    retired_.clear();  // nobody waits, and no sweep runs, while a log is read
    return {};
  }
  Item* item = find_number(stamp.item);
  if (item == nullptr) return misfit(stamp, "no such item is loaded");
  HOLDFAST_TRY(check_item(*item, stamp, record));
  note_change(*item, stamp.sequence, GroupOrdinal());
  apply(*item, record);
  retired_.clear();
  return {};
}

Result<void> Inventory::check_load(const RecordStamp& stamp, const ItemRecord& record) const {
  if (stamp.sequence != Sequence(1)) return misfit(stamp, "a LOAD that is not sequence 1");
  if (!is_storable(stamp)) return misfit(stamp, "a stamp out of range");
  if (record.name.empty() || record.name.size() > kItemNameBytesMax) return misfit(stamp, "a name of no item");
  if (record.version == ItemVersion() || record.version.value() > kVersionMax)
    return misfit(stamp, "a version out of range");
  if (!is_valid(record.definition)) return misfit(stamp, "a definition out of range");
  if (record.state != ItemState::draft || record.fenced) return misfit(stamp, "a LOAD that is not in DRAFT");
  if (stamp.item == ItemNumber() || find_number(stamp.item) != nullptr)
    return misfit(stamp, "a LOAD of a number in use");
  if (record.after != Counters{record.definition.stock, 0, 0, 0} || !lawful(record.after, record.total)) {
    return misfit(stamp, "a LOAD whose counters are not its stock");
  }
  if (record.definition.scope == LimitScope::sale && ItemName::from_stored(record.name).hash_tag().empty()) {
    return misfit(stamp, "a LOAD with scope sale and no hash tag");
  }
  const auto known = by_name_.find(record.name);
  if (known == by_name_.end()) return {};
  if (record.version <= known->second->version) return misfit(stamp, "a LOAD of a version that is not above the last");
  const Item* before = known->second->item;
  if (before != nullptr && (before->fenced || before->state != ItemState::closed || before->counters.reserved > 0)) {
    return misfit(stamp, "a LOAD over a version that is not closed or has units reserved");
  }
  return {};
}

Result<void> Inventory::on_forget(const RecordStamp& stamp, const ForgetRecord& record) {
  Item* item = find_number(stamp.item);
  if (item == nullptr) return misfit(stamp, "no such item is loaded");
  if (record.count == 0 || record.count > kForgetMax) return misfit(stamp, "a FORGET of none or of too many");
  std::uint32_t count = 0;
  for (; count < record.count; ++count) {
    const auto oldest = item->rows->oldest_ended();
    if (!oldest || item->rows->row(*oldest).sequence() > record.through) break;
    item->rows->forget(*oldest);
  }
  const auto next = item->rows->oldest_ended();
  if (count != record.count || (next && item->rows->row(*next).sequence() <= record.through)) {
    return misfit(stamp, "a FORGET of another number of ended reservations than there are");
  }
  return {};
}

Result<void> Inventory::on_default_returns(const RecordStamp&, const DefaultReturnsRecord& record) {
  returns_held_ = record.held;
  return {};
}

}  // namespace holdfast
