// The inventory's spine: groups and durability, look-ups, and how a decided change becomes a record and is applied.
#include "server/inventory.h"

#include "storage/state_hasher.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>

namespace holdfast {
namespace {

constexpr std::uint64_t kRowSeed = 1;  // purposes of IdMaker::seed
constexpr std::uint64_t kNameSeed = 2;

/// Units that a change moves between two counters, or out of the total.
Counters moved(Counters counters, std::int64_t Counters::*from, std::int64_t Counters::*to, std::int64_t quantity) {
  counters.*from -= quantity;
  if (to != nullptr) counters.*to += quantity;
  return counters;
}

}  // namespace

std::size_t Inventory::NameHash::operator()(std::string_view name) const noexcept {
  return XXH3_64bits_withSeed(name.data(), name.size(), seed);
}

Inventory::Inventory(const Settings& settings, RecordSink& sink)
    : settings_(settings),
      sink_(sink),
      id_maker_(settings.secret),
      pools_(id_maker_.seed(kRowSeed)),
      views_(settings.views, settings.secret),
      by_name_(0, NameHash{id_maker_.seed(kNameSeed)}),
      sales_(0, NameHash{id_maker_.seed(kNameSeed)}) {
  number_from(ItemNumber(1));
}

Inventory::~Inventory() {
  for (auto& item : items_) {
    if (item && item->sale != nullptr) leave_sale(*item);
  }
}

void Inventory::open_group(GroupOrdinal group) {
  CHECK(group > open_);
  open_ = group;
}

StateHash Inventory::seal() {
  for (const std::uint32_t index : touched_) {
    Item* item = items_[index].get();
    if (item == nullptr || !item->touched) continue;
    item->touched = false;
    if (const Selling selling = selling_of(*item); selling != item->announced) {
      if (noticing_) notices_.push_back(make_notice(*item));
      item->announced = selling;
    }
    hash_ -= item->hash;
    item->hash = item_hash({item->number, item->version, item->state, item->sequence, item->total, item->counters});
    hash_ += item->hash;
  }
  touched_.clear();
  return hash_;
}

void Inventory::on_group_durable(GroupOrdinal group, Lsn first) {
  CHECK(group > durable_);
  durable_ = group;
  views_.on_durable(group);
  if (pending_.empty() || pending_.front().group != group) return;
  PendingGroup done = std::move(pending_.front());
  pending_.erase(pending_.begin());
  // From the end, so that of several changes of one row the last gives its LSN.
  for (auto pending = done.rows.rbegin(); pending != done.rows.rend(); ++pending) {
    const Item* item = pending->item_index < items_.size() ? items_[pending->item_index].get() : nullptr;
    if (item == nullptr || item->number != pending->item || pending->slot.value() >= item->rows->slots_end()) continue;
    if (item->rows->row(pending->slot).pending_group() == group) {
      item->rows->set_lsn(pending->slot, Lsn(first.value() + pending->position));
    }
  }
  done.rows.clear();
  spare_.push_back(std::move(done));
}

Item* Inventory::find(ItemName name, const Now& now) {
  const auto found = by_name_.find(name.bytes());
  if (found == by_name_.end() || found->second->item == nullptr) {
    ++lookups_.missed;
    return nullptr;
  }
  ++lookups_.found;
  Item* item = found->second->item;
  if (windows_.at(item->index) <= static_cast<std::uint64_t>(to_ms(now.wall))) {
    static_cast<void>(pass_windows(*item, now));  // an item it fences is told so by whatever is asked of it
  }
  return item;
}

Error Inventory::no_item(ItemName name) {
  return Error::format(ErrorCode::no_item, "no item '{}'; load it with ITEM LOAD or ITEM CREATE",
                       Echo(name.bytes()).text());
}

Error Inventory::fenced(const Item& item) {
  return Error::format(ErrorCode::fenced, "{} {}", Echo(item.named->name).text(), item.sequence.value());
}

Item* Inventory::at_position(std::size_t position, const Now& now) {
  Item* item = named_[position]->item;
  if (item != nullptr && windows_.at(item->index) <= static_cast<std::uint64_t>(to_ms(now.wall))) {
    static_cast<void>(pass_windows(*item, now));
  }
  return item;
}

ItemNumber Inventory::number_of(ItemName name) const noexcept {
  const auto found = by_name_.find(name.bytes());
  return found == by_name_.end() || found->second->item == nullptr ? ItemNumber() : found->second->item->number;
}

Item* Inventory::find_number(ItemNumber number) const {
  const auto found = by_number_.find(number.value());
  return found == by_number_.end() ? nullptr : found->second;
}

Result<void> Inventory::may_go_on(const Item& item) {
  if (item.sequence.value() < kSequenceMax - kSequencesKept) [[likely]]
    return {};
  return Error(ErrorCode::err, "this version has used up its sequence numbers; load a new version");
}

RecordStamp Inventory::stamp_next(const Item& item, const Now& now) const {
  CHECK(item.sequence.value() < kSequenceMax);
  return {Lsn(), now.hold, now.wall, item.number, item.sequence.next()};
}

Counters Inventory::after(const Item& item, ReservationEvent event, std::int64_t quantity,
                          bool write_off) const noexcept {
  const auto back = write_off ? nullptr : item.returns_held ? &Counters::held : &Counters::available;
  switch (event) {
    case ReservationEvent::reserve:
      return moved(item.counters, &Counters::available, &Counters::reserved, quantity);
    case ReservationEvent::confirm:
      return moved(item.counters, &Counters::reserved, &Counters::confirmed, quantity);
    case ReservationEvent::resume:
      return moved(item.counters, &Counters::available, &Counters::confirmed, quantity);
    case ReservationEvent::release:
    case ReservationEvent::expire:
      return moved(item.counters, &Counters::reserved, back, quantity);
    case ReservationEvent::refund:
      return moved(item.counters, &Counters::confirmed, back, quantity);
    case ReservationEvent::extend:
      break;
  }
  return item.counters;
}

ReservationRecord Inventory::record_of(const Item& item, RowSlot slot, ReservationEvent event) const {
  ReservationRecord record;
  record.event = event;
  record.id = item.rows->row(slot).id;
  record.user = item.rows->user(slot);
  record.quantity = Quantity(item.rows->quantity(slot));
  return record;
}

Result<RowSlot> Inventory::change(Item& item, const std::optional<RowSlot>& slot, ReservationRecord& record,
                                  const Now& now) {
  views_.before_change(item);
  record.after = after(item, record.event, record.quantity.value(), record.write_off);
  const std::int64_t total = item.total - (record.write_off ? record.quantity.value() : 0);
  HOLDFAST_TRY(fence_if_broken(item, record.after, total, now));
  const RecordStamp stamp = stamp_next(item, now);
  const RecordPosition position = sink_.on_reservation(stamp, record);
  const RowSlot changed = apply(item, slot, stamp, record);
  note_change(item, stamp.sequence, open_);
  note_row(item, changed, position);
  if (item.rows->ended_count() >= ended_max(item) + kForgetMax) {
    int changes = static_cast<int>(kForgetMax);
    // At least the newest stays: the caller may still speak of it.
    forget_ended(item, now, std::max<std::uint64_t>(ended_max(item), 1), changes);
  }
  return changed;
}

ItemRecord Inventory::record_of(const Item& item, ItemEvent event) const {
  ItemRecord record;
  record.event = event;
  record.name = item.named->name;
  record.version = item.version;
  record.state = item.state;
  record.returns_held = item.returns_held;
  record.fenced = item.fenced;
  record.definition = item.definition;
  record.after = item.counters;
  record.total = item.total;
  return record;
}

Result<void> Inventory::change(Item& item, ItemRecord record, const Now& now) {
  views_.before_change(item);
  HOLDFAST_TRY(fence_if_broken(item, record.after, record.total, now));
  const RecordStamp stamp = stamp_next(item, now);
  sink_.on_item(stamp, record);
  note_change(item, stamp.sequence, open_);
  if (record.event == ItemEvent::drop && noticing_) note_drop(item);
  apply(item, record);
  return {};
}

/// A dropped item is gone when its group is sealed.
void Inventory::note_drop(const Item& item) {
  if (item.announced == Selling::closed) return;
  ItemNotice notice = make_notice(item);
  notice.event = Selling::closed;
  notice.state = "DROPPED";
  notices_.push_back(std::move(notice));
}

/// The law is looked at before and after. What would break it is not done; FENCE is, so that nothing else is either.
Result<void> Inventory::fence_if_broken(Item& item, const Counters& after, std::int64_t total_after, const Now& now) {
  if (lawful(item.counters, item.total) && lawful(after, total_after)) [[likely]]
    return {};
  ItemRecord record = record_of(item, ItemEvent::fence);
  record.fenced = true;
  const RecordStamp stamp = stamp_next(item, now);
  sink_.on_item(stamp, record);
  note_change(item, stamp.sequence, open_);
  apply(item, record);
  return fenced(item);
}

void Inventory::note_change(Item& item, Sequence sequence, GroupOrdinal group) {
  item.sequence = sequence;
  item.changed = group;
  changed_ = std::max(changed_, group);
  if (item.sale != nullptr) item.sale->changed = std::max(item.sale->changed, group);
  if (item.touched) return;
  item.touched = true;
  touched_.push_back(item.index);
}

void Inventory::note_row(const Item& item, RowSlot slot, RecordPosition position) {
  if (open_ == GroupOrdinal()) return;
  item.rows->set_pending_group(slot, open_);
  if (pending_.empty() || pending_.back().group != open_) {
    PendingGroup group;
    if (!spare_.empty()) {
      group = std::move(spare_.back());
      spare_.pop_back();
    }
    group.group = open_;
    pending_.push_back(std::move(group));
  }
  pending_.back().rows.push_back({item.index, item.number, slot, position});
}

InventoryMemory Inventory::memory() const {
  InventoryMemory memory = items_memory(0, items_.size());
  memory += shared_memory();
  return memory;
}

InventoryMemory Inventory::items_memory(std::size_t first, std::size_t end) const {
  InventoryMemory memory;
  for (std::size_t index = first; index < std::min(end, items_.size()); ++index) {
    if (items_[index] == nullptr) continue;
    memory.rows += items_[index]->rows->row_bytes();
    memory.indexes += items_[index]->rows->directory_bytes();
    memory.others += sizeof(Item) + sizeof(ItemRows);
  }
  return memory;
}

InventoryMemory Inventory::shared_memory() const {
  InventoryMemory memory;
  for (const auto& rows : retired_) {
    memory.rows += rows->row_bytes();
    memory.indexes += rows->directory_bytes();
  }
  memory.indexes += pools_.cells.bytes() + pools_.several.bytes();
  memory.indexes += views_.bytes();
  memory.names = pools_.names.bytes();
  memory.others += named_.capacity() * sizeof(NamedItem) + due_.bytes() + windows_.bytes();
  for (const auto& group : pending_) memory.others += group.rows.capacity() * sizeof(PendingRow);
  for (const auto& group : spare_) memory.others += group.rows.capacity() * sizeof(PendingRow);
  return memory;
}

}  // namespace holdfast
