#include "tests/fuzz/record_noise.h"

#include "protocol/check.h"
#include "server/inventory.h"

#include <string>

namespace holdfast::fuzz {
namespace {

/// Numbers out of the bytes; 0 when they are used up.
class Choices {
 public:
  explicit Choices(std::span<const std::uint8_t> bytes) : rest_(bytes) {}
  bool at_end() const noexcept { return rest_.empty(); }
  std::uint8_t byte() noexcept {
    if (rest_.empty()) return 0;
    const std::uint8_t value = rest_.front();
    rest_ = rest_.subspan(1);
    return value;
  }
  /// 0..ways-1
  unsigned below(unsigned ways) noexcept { return byte() % ways; }
  /// A number that is near something where code breaks, or near `usual`.
  std::int64_t odd(std::int64_t usual) noexcept {
    constexpr std::int64_t kEdges[] = {0,
                                       1,
                                       -1,
                                       INT64_MAX,
                                       INT64_MIN,
                                       std::int64_t{1} << 40,
                                       (std::int64_t{1} << 40) - 2,
                                       std::int64_t{1} << 47,
                                       std::int64_t{1} << 48,
                                       kStockMax,
                                       kStockMax + 1,
                                       INT32_MAX};
    const unsigned which = below(std::size(kEdges) + 4);
    if (which < std::size(kEdges)) return kEdges[which];
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(usual) + below(5) - 2);
  }

 private:
  std::span<const std::uint8_t> rest_;
};

void change(Choices& choices, std::int64_t& number) { number = choices.odd(number); }

template <class Tag, class Rep>
void change(Choices& choices, Strong<Tag, Rep>& number) {
  number = Strong<Tag, Rep>(static_cast<Rep>(choices.odd(static_cast<std::int64_t>(number.value()))));
}

void change(Choices& choices, Millis& time) { time = Millis(choices.odd(time.count())); }
void change(Choices& choices, HoldTime& time) { time = hold_time(choices.odd(to_ms(time))); }
void change(Choices& choices, WallTime& time) { time = wall_time(choices.odd(to_ms(time))); }
void change(Choices&, bool& flag) { flag = !flag; }

template <class Enum>
void change_enum(Choices& choices, Enum& value) {
  value = static_cast<Enum>(choices.below(16));
}

ReservationId id_of(unsigned n) {
  std::array<std::uint8_t, ReservationId::kBytes> bytes{};
  bytes[15] = static_cast<std::uint8_t>(n);
  return ReservationId(bytes);
}

const std::string kLongUser(128, 'u');
const std::string kLongName(129, 'n');

UserId user_of(unsigned n) {
  if (n == 0) return UserId::from_bytes(kLongUser);
  if (n == 1) return UserId::from_uuid("0123456789abcdef");
  return UserId::from_number(n);
}

/// Passes records on to a visitor, some of them first with a changed field.
class Noise final : public RecordSink {
 public:
  Noise(Choices& choices, RecordVisitor& visitor) : choices_(choices), visitor_(visitor) {}

  RecordPosition on_item(const RecordStamp& stamp, const ItemRecord& record) override {
    if (wanted()) {
      RecordStamp noisy = at(stamp);
      ItemRecord changed = record;
      change_field(noisy, changed);
      static_cast<void>(visitor_.on_item(noisy, changed));
    }
    static_cast<void>(visitor_.on_item(at(stamp), record));
    return 0;
  }
  RecordPosition on_reservation(const RecordStamp& stamp, const ReservationRecord& record) override {
    if (wanted()) {
      RecordStamp noisy = at(stamp);
      ReservationRecord changed = record;
      change_field(noisy, changed);
      static_cast<void>(visitor_.on_reservation(noisy, changed));
    }
    static_cast<void>(visitor_.on_reservation(at(stamp), record));
    return 0;
  }
  RecordPosition on_forget(const RecordStamp& stamp, const ForgetRecord& record) override {
    if (wanted()) {
      RecordStamp noisy = at(stamp);
      ForgetRecord changed = record;
      if (choices_.below(2) == 0) change(choices_, changed.through);
      changed.count = static_cast<std::uint32_t>(choices_.odd(record.count));
      if (choices_.below(4) == 0) change(choices_, noisy.item);
      static_cast<void>(visitor_.on_forget(noisy, changed));
    }
    static_cast<void>(visitor_.on_forget(at(stamp), record));
    return 0;
  }
  RecordPosition on_default_returns(const RecordStamp& stamp, const DefaultReturnsRecord& record) override {
    static_cast<void>(visitor_.on_default_returns(at(stamp), record));
    return 0;
  }

 private:
  bool wanted() { return choices_.below(3) == 0; }
  RecordStamp at(RecordStamp stamp) {
    stamp.lsn = lsn_ = lsn_.next();
    return stamp;
  }

  void change_stamp(RecordStamp& stamp) {
    switch (choices_.below(4)) {
      case 0:
        return change(choices_, stamp.lsn);
      case 1:
        return change(choices_, stamp.hold);
      case 2:
        return change(choices_, stamp.item);
      default:
        return change(choices_, stamp.sequence);
    }
  }

  void change_counters(Counters& counters) {
    std::int64_t* const parts[] = {&counters.available, &counters.reserved, &counters.confirmed, &counters.held};
    change(choices_, *parts[choices_.below(4)]);
    if (choices_.below(2) == 0) change(choices_, *parts[choices_.below(4)]);
  }

  void change_field(RecordStamp& stamp, ReservationRecord& record) {
    switch (choices_.below(9)) {
      case 0:
        return change_enum(choices_, record.event);
      case 1:
        return change(choices_, record.exclusive);
      case 2:
        return change(choices_, record.write_off);
      case 3:
        record.id = id_of(choices_.below(8));
        return;
      case 4:
        record.user = user_of(choices_.below(6));
        return;
      case 5:
        return change(choices_, record.quantity);
      case 6:
        if (choices_.below(4) == 0) record.deadline.reset();
        if (record.deadline) return change(choices_, *record.deadline);
        record.deadline = hold_time(choices_.odd(to_ms(stamp.hold)));
        return;
      case 7:
        return change_counters(record.after);
      default:
        return change_stamp(stamp);
    }
  }

  void change_field(RecordStamp& stamp, ItemRecord& record) {
    switch (choices_.below(12)) {
      case 0:
        return change_enum(choices_, record.event);
      case 1:
        record.name =
            choices_.below(2) == 0 ? std::string_view() : std::string_view(kLongName).substr(choices_.below(3));
        return;
      case 2:
        return change(choices_, record.version);
      case 3:
        return change_enum(choices_, record.state);
      case 4:
        return change(choices_, record.returns_held);
      case 5:
        return change(choices_, record.fenced);
      case 6:
        return change_counters(record.after);
      case 7:
        return change(choices_, record.total);
      case 8:
        return change(choices_, record.delta);
      case 9:
        record.adjust_id = id_of(choices_.below(8));
        return;
      case 10:
        return change_definition(record.definition);
      default:
        return change_stamp(stamp);
    }
  }

  void change_definition(ItemDefinition& definition) {
    switch (choices_.below(8)) {
      case 0:
        return change(choices_, definition.stock);
      case 1:
        return change(choices_, definition.limit);
      case 2:
        definition.scope = definition.scope == LimitScope::item ? LimitScope::sale : LimitScope::item;
        return;
      case 3:
        return change(choices_, definition.ttl);
      case 4:
        return change(choices_, definition.max_hold);
      case 5:
        return change(choices_, definition.opens_at);
      case 6:
        return change(choices_, definition.closes_at);
      default:
        return change(choices_, definition.price);
    }
  }

  Choices& choices_;
  RecordVisitor& visitor_;
  Lsn lsn_;
};

class Nothing final : public RecordSink {
 public:
  RecordPosition on_item(const RecordStamp&, const ItemRecord&) override { return 0; }
  RecordPosition on_reservation(const RecordStamp&, const ReservationRecord&) override { return 0; }
  RecordPosition on_forget(const RecordStamp&, const ForgetRecord&) override { return 0; }
  RecordPosition on_default_returns(const RecordStamp&, const DefaultReturnsRecord&) override { return 0; }
};

/// One honest request, whatever becomes of it.
void request(Choices& choices, Inventory& inventory, Now& now) {
  constexpr std::string_view kNames[] = {"{s}a", "{s}b", "c"};
  const std::string_view name = kNames[choices.below(std::size(kNames))];
  const ItemName item_name = *ItemName::parse(name);
  const UserId user = user_of(choices.below(6));
  const ReservationId id = id_of(choices.below(8));
  Item* item = inventory.find(item_name, now);
  const unsigned kind = choices.below(16);
  if (item == nullptr || kind == 0) {
    LoadRequest load{item_name, {}, {}, true};
    if (item != nullptr) load.version = item->version.next();
    load.definition.stock = 1 + choices.below(8);
    load.definition.limit = choices.below(3);
    if (name.front() == '{') load.definition.scope = LimitScope::sale;
    return static_cast<void>(inventory.load(load, now));
  }
  const VerbRequest verb{item_name,
                         choices.below(2) == 0 ? std::optional(user) : std::nullopt,
                         id,
                         choices.below(2) == 0,
                         choices.below(4) == 0,
                         Millis(1 + 1000 * choices.below(200))};
  switch (kind) {
    case 1:
      return static_cast<void>(inventory.move(*item, ItemEvent::close, now));
    case 2:
      return static_cast<void>(inventory.drop(*item, choices.below(2) == 0, now));
    case 3:
      return static_cast<void>(inventory.adjust(*item, {item_name, std::int64_t{choices.below(5)} - 2, id, "r"}, now));
    case 4:
      return static_cast<void>(inventory.set_returns(*item, choices.below(2) == 0, now));
    case 5:
      return static_cast<void>(inventory.confirm(*item, verb, now));
    case 6:
    case 7:
      return static_cast<void>(inventory.release(*item, verb, now));
    case 8:
      return static_cast<void>(inventory.refund(*item, verb, now));
    case 9:
      return static_cast<void>(inventory.extend(*item, verb, now));
    case 10:
      now.hold += std::chrono::minutes(choices.below(40));
      now.wall += std::chrono::minutes(1);
      return static_cast<void>(inventory.sweep(now));
    case 11:
      return static_cast<void>(inventory.set_all_returns(choices.below(2) == 0, now));
    default:
      return static_cast<void>(inventory.reserve(*item, {item_name, user, 1 + choices.below(2), id}, now));
  }
}

/// What must hold whatever was played.
void check_sound(Inventory& inventory, const Now& now) {
  for (std::size_t position = 0; position < inventory.positions_end(); ++position) {
    Item* item = inventory.at_position(position, now);
    if (item == nullptr) continue;
    CHECK(item->state <= ItemState::closed);
    CHECK(inventory.verify(*item).ok);
    std::uint64_t users = 0;
    for (std::uint32_t slot = 0; slot < item->rows->slots_end(); ++slot) {
      const Row& row = item->rows->row(RowSlot(slot));
      if (row.state() == ReservationState::none) continue;
      CHECK(row.sequence() <= item->sequence && item->rows->find(row.id) == RowSlot(slot));
      users += item->rows->represents_user(RowSlot(slot)) ? 1U : 0U;
    }
    CHECK(users == item->rows->live_users());
  }
}

}  // namespace

void run_record_noise(std::span<const std::uint8_t> bytes) {
  Choices choices(bytes);
  Inventory::Settings settings;
  settings.ended_max = choices.below(4);
  settings.ended_retention = std::chrono::minutes(1 + choices.below(60));
  Nothing nothing;
  Inventory noisy(settings, nothing);
  Noise noise(choices, noisy);
  Inventory honest(settings, noise);
  Now now{hold_time(1'000'000), wall_time(1'800'000'000'000), {}};
  while (!choices.at_end()) request(choices, honest, now);
  check_sound(honest, now);
  check_sound(noisy, now);
  // What was accepted can also be gone on with.
  now.hold += std::chrono::hours(100);
  for (int turn = 0; turn < 100 && noisy.sweep(now); ++turn) continue;
  noisy.seal();
  check_sound(noisy, now);
}

}  // namespace holdfast::fuzz
