#include "storage/state_hasher.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace holdfast {
namespace {

/// Modulo 2^64: quantities come from the file and may be anything.
std::int64_t less(std::int64_t from, std::int64_t quantity) noexcept {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(from) - static_cast<std::uint64_t>(quantity));
}

}  // namespace

StateHash item_hash(const HashedItem& item) noexcept {
  const std::uint64_t parts[] = {item.number.value(),
                                 item.version.value(),
                                 static_cast<std::uint64_t>(item.state),
                                 item.sequence.value(),
                                 static_cast<std::uint64_t>(item.total),
                                 static_cast<std::uint64_t>(item.counters.available),
                                 static_cast<std::uint64_t>(item.counters.reserved),
                                 static_cast<std::uint64_t>(item.counters.confirmed),
                                 static_cast<std::uint64_t>(item.counters.held)};
  const XXH128_hash_t hash = XXH3_128bits(parts, sizeof(parts));
  return {hash.low64, hash.high64};
}

void StateHasher::add(std::string_view name, const HashedItem& item) {
  touch(item.number).item = item;
  names_.insert_or_assign(std::string(name), item.number);
}

const StateHash& StateHasher::state() {
  for (const ItemNumber number : touched_) {
    const auto found = items_.find(number.value());
    if (found == items_.end() || !found->second.touched) continue;
    Kept& kept = found->second;
    kept.touched = false;
    sum_ -= kept.hash;
    kept.hash = item_hash(kept.item);
    sum_ += kept.hash;
  }
  touched_.clear();
  return sum_;
}

Result<void> StateHasher::on_item(const RecordStamp& stamp, const ItemRecord& record) {
  if (record.event == ItemEvent::drop) {
    remove(stamp.item);
    names_.erase(std::string(record.name));
    return {};
  }
  if (record.event == ItemEvent::load) {
    const auto known = names_.find(std::string(record.name));
    if (known != names_.end()) remove(known->second);
    names_.insert_or_assign(std::string(record.name), stamp.item);
  }
  HashedItem& item = touch(stamp.item).item;
  item.version = record.version;
  item.state = record.state;
  item.sequence = stamp.sequence;
  if (record.event == ItemEvent::fence) return {};  // its counters are what is in doubt
  item.counters = record.after;
  item.total = record.total;
  return {};
}

Result<void> StateHasher::on_reservation(const RecordStamp& stamp, const ReservationRecord& record) {
  HashedItem& item = touch(stamp.item).item;
  item.sequence = stamp.sequence;
  item.counters = record.after;
  if (record.write_off) item.total = less(item.total, record.quantity.value());
  return {};
}

Result<void> StateHasher::on_forget(const RecordStamp&, const ForgetRecord&) { return {}; }
Result<void> StateHasher::on_default_returns(const RecordStamp&, const DefaultReturnsRecord&) { return {}; }

StateHasher::Kept& StateHasher::touch(ItemNumber number) {
  Kept& kept = items_[number.value()];
  kept.item.number = number;
  if (!kept.touched) touched_.push_back(number);
  kept.touched = true;
  return kept;
}

void StateHasher::remove(ItemNumber number) {
  const auto found = items_.find(number.value());
  if (found == items_.end()) return;
  sum_ -= found->second.hash;
  items_.erase(found);
}

}  // namespace holdfast
