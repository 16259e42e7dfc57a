// LOAD, CREATE and DROP: how versions of an item come and go.
#include "protocol/check.h"
#include "server/inventory.h"

namespace holdfast {
namespace {

/// The first field in which two definitions differ, as LOAD names it; empty when they are equal.
std::string_view first_difference(const ItemDefinition& a, const ItemDefinition& b) noexcept {
  if (a.stock != b.stock) return "stock";
  if (a.limit != b.limit) return "limit";
  if (a.scope != b.scope) return "scope";
  if (a.ttl != b.ttl) return "ttl";
  if (a.max_hold != b.max_hold) return "max-hold";
  if (a.opens_at != b.opens_at) return "opens-at";
  if (a.closes_at != b.closes_at) return "closes-at";
  if (a.price != b.price) return "price";
  if (a.currency != b.currency) return "currency";
  if (a.sale != b.sale) return "sale";
  if (a.product != b.product) return "product";
  return {};
}

Result<void> check_windows(const ItemDefinition& definition, const Now& now) {
  if (definition.closes_at == WallTime()) return {};
  if (definition.closes_at <= now.wall) {
    return Error::format(ErrorCode::err, "CLOSES-AT {} is in the past; it is {} now", to_ms(definition.closes_at),
                         to_ms(now.wall));
  }
  if (definition.closes_at <= definition.opens_at) {
    return Error::format(ErrorCode::err, "CLOSES-AT {} is not after OPENS-AT {}", to_ms(definition.closes_at),
                         to_ms(definition.opens_at));
  }
  return {};
}

}  // namespace

Result<void> Inventory::load(const LoadRequest& request, const Now& now) {
  Item* item = find(request.item, now);
  if (item != nullptr && request.version.value_or(item->version) == item->version) {
    const std::string_view field = first_difference(item->loaded, request.definition);
    if (!field.empty()) {
      return Error::format(ErrorCode::version, "{}: version {} was loaded with another value", field,
                           item->version.value());
    }
    return request.create && item->state == ItemState::draft ? create_steps(*item, now) : Result<void>();
  }
  HOLDFAST_TRY(check_windows(request.definition, now));
  const auto known = by_name_.find(request.item.bytes());
  const ItemVersion last = known == by_name_.end() ? ItemVersion() : known->second->version;
  const ItemVersion version = request.version.value_or(last.next());
  if (version <= last) {
    return Error::format(ErrorCode::version, "{} is not above {}, the last version of this name", version.value(),
                         last.value());
  }
  if (item != nullptr) {
    if (item->fenced) return fenced(*item);
    HOLDFAST_TRY(settle(*item, now));
    if (item->state != ItemState::closed || item->counters.reserved > 0) {
      return Error::format(ErrorCode::version,
                           "version {} is {} with {} reserved; a new version needs it CLOSED with none",
                           item->version.value(), state_name(item->state), item->counters.reserved);
    }
  }
  return load_version(request, version, now);
}

/// The LOAD record of a version that may be loaded, and CREATE's further steps.
Result<void> Inventory::load_version(const LoadRequest& request, ItemVersion version, const Now& now) {
  ItemRecord record;
  record.event = ItemEvent::load;
  record.name = request.item.bytes();
  record.version = version;
  record.state = ItemState::draft;
  record.returns_held = returns_held_;
  record.definition = request.definition;
  record.after.available = request.definition.stock;
  record.total = request.definition.stock;
  const RecordStamp stamp{Lsn(), now.hold, now.wall, next_item_number(), Sequence(1)};
  const auto known = by_name_.find(record.name);
  if (known != by_name_.end() && known->second->item != nullptr) views_.before_change(*known->second->item);
  sink_.on_item(stamp, record);
  Item& item = apply_load(stamp, record);
  note_change(item, stamp.sequence, open_);
  return request.create ? create_steps(item, now) : Result<void>();
}

void Inventory::number_from(ItemNumber next) {
  CHECK(next > item_number_max_ && settings_.place.index.value() < settings_.place.count);
  first_number_ = ItemNumber(next.value() + settings_.place.index.value());
}

/// The least of this shard's numbers above all that there have been.
ItemNumber Inventory::next_item_number() const noexcept {
  if (item_number_max_ < first_number_) return first_number_;
  const std::uint64_t count = settings_.place.count;
  const std::uint64_t given = (item_number_max_.value() - first_number_.value()) / count;
  return ItemNumber(first_number_.value() + (given + 1) * count);
}

Result<void> Inventory::create_steps(Item& item, const Now& now) {
  HOLDFAST_TRY(move(item, ItemEvent::ready, now));
  return item.definition.opens_at <= now.wall ? move(item, ItemEvent::open, now) : Result<void>();
}

Result<void> Inventory::drop(Item& item, bool confirmed_too, const Now& now) {
  if (item.fenced) return fenced(item);
  HOLDFAST_TRY(settle(item, now));
  if (item.counters.reserved > 0) {
    return Error::format(ErrorCode::err, "{} units are reserved; release them or let them expire first",
                         item.counters.reserved);
  }
  if (item.counters.confirmed > 0 && !confirmed_too) {
    return Error::format(ErrorCode::err, "{} units are confirmed; CONFIRMED-TOO drops them with the item",
                         item.counters.confirmed);
  }
  return change(item, record_of(item, ItemEvent::drop), now);
}

Item& Inventory::apply_load(const RecordStamp& stamp, const ItemRecord& record) {
  const auto known = by_name_.find(record.name);
  NamedItem& named = known == by_name_.end() ? make_name(record.name) : *known->second;
  if (named.item != nullptr) remove_item(*named.item);
  named.version = record.version;
  Item& item = make_item(named, stamp.item, stamp.hold);
  item.version = record.version;
  item.loaded = record.definition;
  take_over(item, record);
  if (item.definition.scope == LimitScope::sale) join_sale(item);
  return item;
}

NamedItem& Inventory::make_name(std::string_view name) {
  auto named = std::make_unique<NamedItem>();
  named->name = name;
  named->position = static_cast<std::uint32_t>(named_.size());
  by_name_.emplace(named->name, named.get());
  named_.push_back(std::move(named));
  return *named_.back();
}

/// Without anything but its name, number and place.
Item& Inventory::make_item(NamedItem& named, ItemNumber number, HoldTime loaded) {
  auto made = std::make_unique<Item>();
  Item& item = *made;
  if (free_indexes_.empty()) {
    item.index = static_cast<std::uint32_t>(items_.size());
    items_.push_back(std::move(made));
  } else {
    item.index = free_indexes_.back();
    free_indexes_.pop_back();
    items_[item.index] = std::move(made);
  }
  item.named = &named;
  item.number = number;
  item.rows = std::make_unique<ItemRows>(pools_, loaded);
  named.item = &item;
  by_number_.emplace(number.value(), &item);
  item_number_max_ = std::max(item_number_max_, number);
  due_.set(item.index, MinimumTree::kNever);
  return item;
}

void Inventory::remove_item(Item& item) {
  views_.remove(item);
  if (item.sale != nullptr) leave_sale(item);
  if (item.fenced) --fenced_count_;
  hash_ -= item.hash;
  by_number_.erase(item.number.value());
  item.named->item = nullptr;
  due_.set(item.index, MinimumTree::kNever);
  windows_.set(item.index, MinimumTree::kNever);
  retired_.push_back(std::move(item.rows));
  const std::uint32_t index = item.index;
  free_indexes_.push_back(index);
  items_[index].reset();
}

void Inventory::join_sale(Item& item) {
  const std::string_view tag = item.name().hash_tag();
  auto found = sales_.find(tag);
  if (found == sales_.end()) {
    auto sale = std::make_unique<Sale>(pools_, std::string(tag));
    const std::string_view key = sale->tag();
    found = sales_.emplace(key, std::move(sale)).first;
  }
  item.sale = found->second.get();
  item.sale->items.push_back(&item);
}

/// What users have of this item no longer counts in the sale.
void Inventory::leave_sale(Item& item) {
  Sale& sale = *item.sale;
  for (std::uint32_t slot = 0; slot < item.rows->slots_end(); ++slot) {
    if (!item.rows->row(RowSlot(slot)).live()) continue;
    sale.remove(item.rows->user(RowSlot(slot)), item.number, RowSlot(slot), item.rows->quantity(RowSlot(slot)));
  }
  sale.changed = std::max(sale.changed, open_);
  std::erase(sale.items, &item);
  item.sale = nullptr;
  views_.left(sale);
  if (!sale.items.empty()) return;
  views_.remove(sale);
  sales_.erase(sales_.find(sale.tag()));
}

}  // namespace holdfast
