// The rows of an item against a naive model that walks over everything, and what the model does not show.
#include "server/item_rows.h"

#include "tests/simulation/seeded_random.h"

#include "tests/doctest.h"

#include <algorithm>
#include <map>
#include <set>

using namespace holdfast;
using namespace std::string_literals;

namespace {

constexpr auto kBase = hold_time(5'000'000);

ReservationId id_of(std::uint64_t number) {
  std::array<std::uint8_t, ReservationId::kBytes> bytes{};
  for (std::size_t i = 0; i < 8; ++i) bytes[15 - i] = static_cast<std::uint8_t>(number >> (8 * i));
  return ReservationId(bytes);
}

/// One of a few users of every kind.
std::string user_text(std::uint64_t number) {
  switch (number % 4) {
    case 0:
      return std::to_string(number);
    case 1:
      return "00" + std::to_string(number);
    case 2:
      return "0192f0c1-2345-7abc-8def-" + std::to_string(100'000'000'000 + number);
    default:
      return std::string(124 - number % 5, 'u') + std::to_string(number);
  }
}

class NaiveRows {
 public:
  struct NaiveRow {
    std::uint64_t id;
    std::string user;
    std::int64_t quantity;
    ReservationState state;
    HoldTime created;
    std::optional<HoldTime> deadline;
    std::uint64_t sequence;
    std::uint64_t order;  // grows with each time it became RESERVED or CONFIRMED
    HoldTime ended;
    bool live() const { return state == ReservationState::reserved || state == ReservationState::confirmed; }
  };

  std::map<std::uint32_t, NaiveRow> rows;          // by slot
  std::map<std::string, std::uint32_t> resumable;  // user -> his EXPIRED one that the short form resumes
  std::uint64_t orders = 0;

  std::vector<std::uint32_t> slots(const std::string& user, ReservationState state) const {
    std::vector<std::uint32_t> found;
    for (const auto& [slot, row] : rows) {
      if (row.user == user && row.state == state) found.push_back(slot);
    }
    std::sort(found.begin(), found.end(), [&](auto a, auto b) { return rows.at(a).order > rows.at(b).order; });
    return found;
  }
  bool has_live(const std::string& user) const {
    return std::any_of(rows.begin(), rows.end(),
                       [&](const auto& row) { return row.second.user == user && row.second.live(); });
  }
};

/// Both, kept in step.
class Pair {
 public:
  explicit Pair(std::uint64_t seed) : dice_(seed) {}

  void step() {
    now_ += Millis(static_cast<std::int64_t>(dice_.below(3)));
    switch (dice_.below(10)) {
      case 0:
      case 1:
      case 2:
      case 3:
        return reserve();
      case 4:
        if (const auto slot = any(ReservationState::reserved)) confirm(*slot);
        return;
      case 5:
        if (const auto slot = any(ReservationState::reserved)) end(*slot, ReservationState::released);
        return;
      case 6:
        if (const auto slot = any(ReservationState::reserved)) end(*slot, ReservationState::expired);
        return;
      case 7:
        if (const auto slot = any(ReservationState::confirmed)) end(*slot, ReservationState::refunded);
        return;
      case 8:
        if (const auto slot = any(ReservationState::expired)) resume(*slot);
        return;
      default:
        return dice_.chance(1, 2) ? forget_oldest() : extend();
    }
  }

  void check_user(std::uint64_t number) {
    const std::string text = user_text(number);
    CAPTURE(text);
    const UserRows found = rows_.find_user(UserId::parse(text).value());
    const auto reserved = model_.slots(text, ReservationState::reserved);
    const auto confirmed = model_.slots(text, ReservationState::confirmed);
    std::int64_t units = 0;
    for (const auto& part : {reserved, confirmed}) {
      for (const auto slot : part) units += model_.rows.at(slot).quantity;
    }
    REQUIRE(found.reserved == reserved.size());
    REQUIRE(found.confirmed == confirmed.size());
    REQUIRE(found.units == units);
    REQUIRE(found.newest_reserved == first(reserved));
    REQUIRE(found.newest_confirmed == first(confirmed));
    const auto resumable = model_.resumable.find(text);
    REQUIRE(found.newest_expired ==
            (resumable == model_.resumable.end() ? std::nullopt : std::optional(RowSlot(resumable->second))));
  }

  void check_all() {
    std::set<std::string> live;
    std::uint64_t ended = 0;
    std::map<std::string, int> represented;
    for (std::uint32_t slot = 0; slot < rows_.slots_end(); ++slot) {
      const auto expected = model_.rows.find(slot);
      const Row& row = rows_.row(RowSlot(slot));
      REQUIRE((row.state() == ReservationState::none) == (expected == model_.rows.end()));
      if (expected == model_.rows.end()) continue;
      const NaiveRows::NaiveRow& naive = expected->second;
      REQUIRE(row.id == id_of(naive.id));
      REQUIRE(rows_.find(row.id) == RowSlot(slot));
      REQUIRE(rows_.user(RowSlot(slot)).text() == naive.user);
      REQUIRE(rows_.quantity(RowSlot(slot)) == naive.quantity);
      REQUIRE(row.state() == naive.state);
      REQUIRE(row.sequence() == Sequence(naive.sequence));
      REQUIRE(rows_.created(RowSlot(slot)) == naive.created);
      if (naive.state == ReservationState::reserved) REQUIRE(rows_.deadline(RowSlot(slot)) == naive.deadline);
      if (row.ended()) REQUIRE(rows_.ended_at(RowSlot(slot)) == naive.ended);
      ended += row.ended() ? 1U : 0U;
      if (naive.live()) live.insert(naive.user);
      if (rows_.represents_user(RowSlot(slot))) ++represented[naive.user];
    }
    REQUIRE(rows_.row_count() == model_.rows.size());
    REQUIRE(rows_.ended_count() == ended);
    REQUIRE(rows_.live_users() == live.size());
    REQUIRE(represented.size() == live.size());
    for (const auto& [user, times] : represented) REQUIRE(times == 1);
    check_order();
  }

 private:
  static std::optional<RowSlot> first(const std::vector<std::uint32_t>& slots) {
    return slots.empty() ? std::nullopt : std::optional(RowSlot(slots.front()));
  }

  void check_order() {
    std::optional<HoldTime> earliest;
    std::optional<std::uint64_t> oldest;
    for (const auto& [slot, row] : model_.rows) {
      if (row.state == ReservationState::reserved && row.deadline) {
        earliest = std::min(earliest.value_or(*row.deadline), *row.deadline);
      }
      if (!row.live()) oldest = std::min(oldest.value_or(row.sequence), row.sequence);
    }
    REQUIRE(rows_.deadline_bound() <= earliest.value_or(HoldTime::max()));
    int looks = 1'000'000;
    const auto due = rows_.earliest_due(HoldTime::max(), looks);
    REQUIRE(due.has_value() == earliest.has_value());
    if (due) REQUIRE(rows_.deadline(*due) == earliest);
    const auto ended = rows_.oldest_ended();
    REQUIRE(ended.has_value() == oldest.has_value());
    if (ended) REQUIRE(rows_.row(*ended).sequence() == Sequence(*oldest));
  }

  std::optional<std::uint32_t> any(ReservationState state) {
    std::vector<std::uint32_t> found;
    for (const auto& [slot, row] : model_.rows) {
      if (row.state == state) found.push_back(slot);
    }
    return found.empty() ? std::nullopt : std::optional(found[dice_.below(found.size())]);
  }

  void reserve() {
    const std::string user = user_text(dice_.below(40));
    const std::int64_t quantity = dice_.chance(1, 10) ? kStockMax : static_cast<std::int64_t>(1 + dice_.below(70'000));
    const auto deadline =
        dice_.chance(1, 10) ? std::nullopt : std::optional(now_ + Millis(static_cast<std::int64_t>(dice_.below(50))));
    const RowSlot slot =
        rows_.reserve({id_of(++ids_), UserId::parse(user).value(), quantity, now_, deadline, false}, next());
    REQUIRE(
        model_.rows
            .emplace(
                slot.value(),
                NaiveRows::NaiveRow{
                    ids_, user, quantity, ReservationState::reserved, now_, deadline, sequence_, ++model_.orders, {}})
            .second);
    model_.resumable.erase(user);
  }
  void confirm(std::uint32_t slot) {
    rows_.confirm(RowSlot(slot), next());
    auto& row = model_.rows.at(slot);
    row.state = ReservationState::confirmed;
    row.sequence = sequence_;
    row.order = ++model_.orders;
  }
  void end(std::uint32_t slot, ReservationState state) {
    rows_.end(RowSlot(slot), state, now_, next());
    auto& row = model_.rows.at(slot);
    row.state = state;
    row.sequence = sequence_;
    row.ended = now_;
    if (state == ReservationState::expired && !model_.has_live(row.user)) model_.resumable[row.user] = slot;
  }
  void resume(std::uint32_t slot) {
    rows_.resume(RowSlot(slot), true, next());
    auto& row = model_.rows.at(slot);
    row.state = ReservationState::confirmed;
    row.sequence = sequence_;
    row.order = ++model_.orders;
    model_.resumable.erase(row.user);
  }
  void extend() {
    const auto slot = any(ReservationState::reserved);
    if (!slot) return;
    auto& row = model_.rows.at(*slot);
    row.deadline = row.deadline.value_or(now_) + Millis(static_cast<std::int64_t>(dice_.below(30)));
    rows_.extend(RowSlot(*slot), *row.deadline, next());
    row.sequence = sequence_;
  }
  void forget_oldest() {
    const auto slot = rows_.oldest_ended();
    if (!slot) return;
    rows_.forget(*slot);
    const auto gone = model_.rows.find(slot->value());
    const auto resumable = model_.resumable.find(gone->second.user);
    if (resumable != model_.resumable.end() && resumable->second == slot->value()) model_.resumable.erase(resumable);
    REQUIRE(!rows_.find(id_of(gone->second.id)));
    model_.rows.erase(gone);
  }
  Sequence next() { return Sequence(++sequence_); }

  simulation::Dice dice_;
  RowPools pools_{99};
  ItemRows rows_{pools_, kBase};
  NaiveRows model_;
  HoldTime now_ = kBase;
  std::uint64_t ids_ = 0;
  std::uint64_t sequence_ = 0;
};

}  // namespace

TEST_CASE("item rows: agree with a naive model, many users, several rows each") {
  for (const std::uint64_t seed : {1U, 2U, 3U, 4U}) {
    CAPTURE(seed);
    Pair pair(seed);
    for (int round = 0; round < 3'000; ++round) {
      pair.step();
      pair.check_user(static_cast<std::uint64_t>(round) % 40);
      if (round % 50 == 0) pair.check_all();
    }
    pair.check_all();
  }
}

TEST_CASE("item rows: times before the base or beyond 34 years do not fit") {
  RowPools pools(1);
  const ItemRows rows(pools, kBase);
  CHECK(rows.fits(kBase));
  CHECK(!rows.fits(kBase - Millis(1)));
  CHECK(rows.fits(kBase + Millis(static_cast<std::int64_t>(Row::kTimeMax))));
  CHECK(!rows.fits(kBase + Millis(static_cast<std::int64_t>(Row::kTimeMax) + 1)));
}

TEST_CASE("item rows: the newest live one is the one made last") {
  RowPools pools(1);
  ItemRows rows(pools, kBase);
  const UserId user = UserId::parse("u").value();
  const auto make = [&](std::uint64_t number, int ms) {
    return rows.reserve({id_of(number), user, 1, kBase + Millis(ms), kBase + Millis(999), false}, Sequence(number));
  };
  CHECK(!rows.newest_live(rows.find_user(user)));
  const RowSlot first = make(1, 0);
  CHECK(rows.newest_live(rows.find_user(user)) == first);
  const RowSlot second = make(2, 5);
  CHECK(rows.newest_live(rows.find_user(user)) == second);
  rows.confirm(second, Sequence(3));
  CHECK(rows.newest_live(rows.find_user(user)) == second);
  rows.end(second, ReservationState::refunded, kBase + Millis(6), Sequence(4));
  CHECK(rows.newest_live(rows.find_user(user)) == first);
}

TEST_CASE("item rows: taken down step by step, and what users' names took comes back") {
  RowPools pools(1);
  const auto fill = [&](ItemRows& rows) {
    for (std::uint64_t i = 0; i < 5'000; ++i) {
      const std::string user = user_text(i % 3'000);
      rows.reserve({id_of(i), UserId::parse(user).value(), 1, kBase, std::nullopt, false}, Sequence(i + 1));
    }
  };
  {
    ItemRows rows(pools, kBase);
    fill(rows);
    int steps = 1;
    while (!rows.release_some(1)) ++steps;
    CHECK(steps > 3);
  }
  const std::size_t bytes = pools.cells.bytes() + pools.several.bytes() + pools.names.bytes();
  for (int round = 0; round < 5; ++round) {
    ItemRows rows(pools, kBase);
    fill(rows);
  }
  CHECK(pools.cells.bytes() + pools.several.bytes() + pools.names.bytes() == bytes);
}
