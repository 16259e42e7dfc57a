#include "storage/snapshot_entries.h"

#include "storage/snapshot_format.h"
#include "storage/snapshot_writer.h"

#include <array>

namespace holdfast {
namespace {

using namespace snapshot_format;

Error malformed(std::string_view what) { return Error::format(ErrorCode::damaged, "an entry that is no {}", what); }

/// A time so many milliseconds after another, modulo 2^64: both come from the file and may be anything.
HoldTime add(HoldTime time, std::int64_t ms) noexcept {
  return hold_time(static_cast<std::int64_t>(static_cast<std::uint64_t>(to_ms(time)) + static_cast<std::uint64_t>(ms)));
}

bool fits(ItemVersion version) noexcept { return version.value() >= 1 && version.value() <= INT64_MAX; }

}  // namespace

Result<void> SnapshotEntries::read(std::span<const std::byte> payload) {
  ByteReader in(payload);
  while (!in.at_end()) {
    if (ended_) return Error(ErrorCode::damaged, "an entry behind the last");
    HOLDFAST_TRY(read_entry(in));
  }
  return {};
}

Result<void> SnapshotEntries::read_entry(ByteReader& in) {
  const auto type = in.fixed<Entry>();
  const bool of_item = type >= Entry::row && type <= Entry::item_end;
  if (has_log_ == (type == Entry::log) || in_item_ != of_item) {
    return Error::format(ErrorCode::damaged, "an entry 0x{:02x} out of place", static_cast<unsigned>(type));
  }
  switch (type) {
    case Entry::log:
      return read_log(in);
    case Entry::name:
      return read_name(in);
    case Entry::version:
      return read_version(in);
    case Entry::item:
      return read_item(in);
    case Entry::row:
      return read_row(in);
    case Entry::order:
      return read_order(in);
    case Entry::adjust:
      return read_adjust(in);
    case Entry::item_end:
      return read_item_end(in);
    case Entry::end:
      return read_end(in);
  }
  return Error::format(ErrorCode::unsupported, "an entry 0x{:02x} that this version does not know",
                       static_cast<unsigned>(type));
}

Result<void> SnapshotEntries::read_log(ByteReader& in) {
  const auto flags = in.fixed<std::uint8_t>();
  const ItemNumber highest(in.number());
  if (!in.ok() || (flags & ~kReturnsHeld) != 0) return malformed("log entry");
  has_log_ = true;
  return visitor_.on_log({highest, flags != 0});
}

Result<void> SnapshotEntries::read_name(ByteReader& in) {
  SnapshotName name;
  name.version = ItemVersion(in.number());
  name.name = in.text(kItemNameBytesMax);
  if (!in.ok() || name.name.empty() || !fits(name.version)) return malformed("name");
  ++totals_.names;
  return visitor_.on_name(name);
}

Result<void> SnapshotEntries::read_version(ByteReader& in) {
  SnapshotVersion version;
  const auto flags = in.fixed<std::uint8_t>();
  version.item = ItemNumber(in.number());
  version.version = ItemVersion(in.number());
  version.last = Lsn(in.number());
  version.name = in.text(kItemNameBytesMax);
  version.definition.scope = (flags & kScopeSale) != 0 ? LimitScope::sale : LimitScope::item;
  take_definition(in, version.definition);
  if (!in.ok() || (flags & ~kScopeSale) != 0 || version.name.empty() || version.item == ItemNumber() ||
      !fits(version.version)) {
    return malformed("version");
  }
  return visitor_.on_version(version);
}

Result<void> SnapshotEntries::read_item(ByteReader& in) {
  SnapshotItem item;
  const auto flags = in.fixed<std::uint8_t>();
  item.returns_held = (flags & kReturnsHeld) != 0;
  item.fenced = (flags & kFenced) != 0;
  item.definition.scope = (flags & kScopeSale) != 0 ? LimitScope::sale : LimitScope::item;
  item.loaded.scope = (flags & kLoadedScopeSale) != 0 ? LimitScope::sale : LimitScope::item;
  item.state = in.fixed<ItemState>();
  item.number = ItemNumber(in.number());
  item.version = ItemVersion(in.number());
  item.sequence = Sequence(in.number());
  item.base = hold_time(in.integer());
  const std::uint64_t slots = in.number();
  item.counters = take_counters(in);
  item.total = in.integer();
  item.name = in.text(kItemNameBytesMax);
  take_definition(in, item.definition);
  take_definition(in, item.loaded);
  if (!in.ok() || flags > (kReturnsHeld | kFenced | kScopeSale | kLoadedScopeSale) || item.state > ItemState::closed ||
      item.number == ItemNumber() || !fits(item.version) || item.sequence == Sequence() ||
      item.sequence.value() > kSequenceMax || slots > UINT32_MAX || item.name.empty()) {
    return malformed("item");
  }
  item.slots = static_cast<std::uint32_t>(slots);
  ++totals_.items;
  in_item_ = true;
  item_ = item.number;
  slots_ = slots;
  next_slot_ = 0;
  item_rows_ = 0;
  return visitor_.on_item(item);
}

Result<void> SnapshotEntries::read_row(ByteReader& in) {
  const std::uint64_t free = in.number();
  const auto encoded = in.rest();
  const auto flags = in.fixed<std::uint8_t>();
  SnapshotRow row;
  row.state = static_cast<ReservationState>(flags & kStateMask);
  row.exclusive = (flags & kExclusive) != 0;
  row.is_newest_expired = (flags & kNewestExpired) != 0;
  row.is_newest_of_sale = (flags & kNewestOfSale) != 0;
  row.id = take_id(in);
  const bool user = take_user(in, flags >> kUserKindShift & 3U, row.user);
  const std::uint64_t quantity = in.number();
  row.created = hold_time(in.integer());
  const auto has_time = in.fixed<std::uint8_t>();
  if (has_time == 1) row.time = add(row.created, in.integer());
  row.sequence = Sequence(in.number());
  row.lsn = Lsn(in.number());
  if (!in.ok() || !user || has_time > 1 || row.state == ReservationState::none ||
      row.state > ReservationState::refunded || quantity == 0 || quantity > static_cast<std::uint64_t>(kStockMax) ||
      row.sequence.value() > kSequenceMax || free >= slots_ || next_slot_ + free >= slots_) {
    return malformed("reservation");
  }
  row.quantity = static_cast<std::int64_t>(quantity);
  row.slot = static_cast<std::uint32_t>(next_slot_ + free);
  totals_.rows_hash += hash_snapshot_row(item_, encoded.first(encoded.size() - in.rest().size()));
  ++totals_.rows;
  ++item_rows_;
  next_slot_ = row.slot + std::uint64_t{1};
  return visitor_.on_row(row);
}

Result<void> SnapshotEntries::read_order(ByteReader& in) {
  std::array<std::uint32_t, kOrderSlotsMax> slots;
  const std::uint64_t count = in.number();
  if (count > slots.size()) return malformed("order");
  for (std::size_t index = 0; index < count; ++index) {
    const std::uint64_t slot = in.number();
    if (slot >= slots_) return malformed("order");
    slots[index] = static_cast<std::uint32_t>(slot);
  }
  if (!in.ok()) return malformed("order");
  return visitor_.on_order(std::span(slots).first(count));
}

Result<void> SnapshotEntries::read_adjust(ByteReader& in) {
  const ReservationId id = take_id(in);
  const std::int64_t delta = in.integer();
  if (!in.ok()) return malformed("adjustment");
  return visitor_.on_adjust(id, delta);
}

Result<void> SnapshotEntries::read_item_end(ByteReader& in) {
  if (in.number() != item_rows_ || !in.ok()) return malformed("end of an item with so many reservations");
  in_item_ = false;
  return visitor_.on_item_end();
}

Result<void> SnapshotEntries::read_end(ByteReader& in) {
  SnapshotTotals totals;
  totals.names = in.number();
  totals.items = in.number();
  totals.rows = in.number();
  totals.rows_hash.low = in.fixed<std::uint64_t>();
  totals.rows_hash.high = in.fixed<std::uint64_t>();
  if (!in.ok() || totals != totals_) return malformed("end of a snapshot with what was before it");
  ended_ = true;
  return {};
}

}  // namespace holdfast
