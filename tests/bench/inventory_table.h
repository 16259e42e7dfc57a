// An inventory with one large item, for measuring: a log that only counts, users of 16 digits, ids that look random.
// One thread.
#pragma once

#include "protocol/check.h"
#include "server/inventory.h"
#include "server/view_map.h"

#include <cstring>

namespace holdfast::bench {

/// Takes records and keeps none.
class CountingSink final : public RecordSink {
 public:
  RecordPosition on_item(const RecordStamp&, const ItemRecord&) override { return position_++; }
  RecordPosition on_reservation(const RecordStamp&, const ReservationRecord&) override { return position_++; }
  RecordPosition on_forget(const RecordStamp&, const ForgetRecord&) override { return position_++; }
  RecordPosition on_default_returns(const RecordStamp&, const DefaultReturnsRecord&) override { return position_++; }
  RecordPosition position() const noexcept { return position_; }
  void begin() noexcept { position_ = 0; }

 private:
  RecordPosition position_ = 0;
};

/// A permutation of the 64-bit numbers (splitmix64's last step).
constexpr std::uint64_t mixed(std::uint64_t number) noexcept {
  number += 0x9e3779b97f4a7c15U;
  number = (number ^ number >> 30) * 0xbf58476d1ce4e5b9U;
  number = (number ^ number >> 27) * 0x94d049bb133111ebU;
  return number ^ number >> 31;
}

/// The n-th user: a number of 16 digits.
inline UserId user_at(std::uint64_t n) { return UserId::from_number(1'000'000'000'000'000U + n * 7'919U); }

/// The n-th given id.
inline ReservationId id_at(std::uint64_t n) {
  std::array<std::uint8_t, ReservationId::kBytes> bytes;
  const std::uint64_t halves[] = {mixed(2 * n), mixed(2 * n + 1)};
  std::memcpy(bytes.data(), halves, sizeof(halves));
  return ReservationId(bytes);
}

/// One item and what has been done to it.
class Table {
 public:
  /// Opens item `{bench}item` with this stock and limit 1.
  explicit Table(std::int64_t stock, LimitScope scope = LimitScope::item) {
    inventory_.open_group(group_);
    LoadRequest request{*ItemName::parse("{bench}item"), {}, {}, true};
    request.definition.stock = stock;
    request.definition.scope = scope;
    CHECK(inventory_.load(request, now_).has_value());
    item_ = inventory_.find(request.item, now_);
  }

  Inventory& inventory() noexcept { return inventory_; }
  Item& item() noexcept { return *item_; }
  const Now& now() const noexcept { return now_; }
  void pass(Millis time) noexcept { now_.hold += time, now_.wall += time; }

  /// RESERVE of user n with id n, or with one that the server makes.
  Result<ReserveAnswer> reserve(std::uint64_t n, bool given_id = true) {
    ReserveRequest request{item_->name(), user_at(n)};
    if (given_id) request.id = id_at(n);
    return inventory_.reserve(*item_, request, now_);
  }
  VerbRequest verb(std::uint64_t n) const { return {item_->name(), user_at(n), id_at(n)}; }

  /// Reserves for users first..last-1.
  void fill(std::uint64_t first, std::uint64_t last) {
    for (std::uint64_t n = first; n < last; ++n) {
      CHECK(reserve(n)->outcome == ReserveOutcome::taken);
      if (n % kGroupCommands == 0) commit();
    }
    commit();
  }
  /// The open group becomes durable and another is opened.
  void commit() {
    inventory_.seal();
    inventory_.on_group_durable(group_, Lsn(lsn_));
    inventory_.views().publish(now_);
    lsn_ += sink_.position();
    sink_.begin();
    group_ = group_.next();
    inventory_.open_group(group_);
  }

  /// Publishes a refusal of the item, and lets `views` know of it. REQUIRES: it is sold out.
  void make_known() {
    CHECK(reserve(UINT32_MAX)->outcome == ReserveOutcome::sold_out);
    while (inventory_.views().work(now_)) continue;
    commit();
    inventory_.views().tell(item_, 0);
    for (const ViewNews& news : inventory_.views().take_news(0)) views_.learn(news.item, news.view);
    CHECK(views_.size() == 1);
  }
  /// What a thread knows that does not own the item.
  ViewMap& views() noexcept { return views_; }

  static constexpr std::uint64_t kGroupCommands = 512;

 private:
  CountingSink sink_;
  Inventory inventory_{Inventory::Settings(), sink_};
  ViewMap views_{inventory_.views().hashes()};
  Now now_{hold_time(1'000'000), wall_time(1'790'000'000'000), {}};
  GroupOrdinal group_{1};
  std::uint64_t lsn_ = 1;
  Item* item_ = nullptr;
};

}  // namespace holdfast::bench
