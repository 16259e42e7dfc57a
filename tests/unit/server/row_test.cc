#include "server/row.h"

#include "tests/doctest.h"

#include <array>

using namespace holdfast;

namespace {

/// All that a row says, to see that setting one field leaves the others alone.
auto fields(const Row& row) {
  return std::make_tuple(row.user().value, row.user().kind, row.created(), row.state(), row.exclusive(),
                         row.inline_quantity(), row.time(), row.sequence(), row.lsn(), row.pending_group());
}

struct Values {
  std::uint64_t user;
  UserId::Kind kind;
  std::uint64_t created;
  ReservationState state;
  bool exclusive;
  std::int64_t quantity;
  std::uint64_t time;
  Sequence sequence;
  std::uint64_t position;
};

constexpr Values kLow{0, UserId::Kind::number, 0, ReservationState::none, false, 0, 0, Sequence(0), 0};
constexpr Values kHigh{UINT64_MAX,  UserId::Kind::bytes,     Row::kNoDeadline, ReservationState::refunded,
                       true,        Row::kInlineQuantityMax, Row::kNoDeadline, Sequence(Row::kSequenceMax),
                       Row::kLsnMax};

constexpr int kFields = 8;

void set(Row& row, int field, const Values& values) {
  switch (field) {
    case 0:
      return row.set_user({values.user, values.kind});
    case 1:
      return row.set_created(values.created);
    case 2:
      return row.set_state(values.state);
    case 3:
      return row.set_exclusive(values.exclusive);
    case 4:
      return row.set_inline_quantity(values.quantity);
    case 5:
      return row.set_time(values.time);
    case 6:
      return row.set_sequence(values.sequence);
    default:
      return row.set_lsn(Lsn(values.position));
  }
}

auto mixed(unsigned high_fields) {
  const auto of = [&](int field) -> const Values& { return (high_fields >> field & 1U) != 0 ? kHigh : kLow; };
  return std::make_tuple(of(0).user, of(0).kind, of(1).created, of(2).state, of(3).exclusive, of(4).quantity,
                         of(5).time, of(6).sequence, Lsn(of(7).position), GroupOrdinal());
}

}  // namespace

TEST_CASE("row: every field keeps its extremes, whatever the others are") {
  for (unsigned high_fields = 0; high_fields < 1U << kFields; ++high_fields) {
    CAPTURE(high_fields);
    Row row;
    for (int field = 0; field < kFields; ++field) set(row, field, (high_fields >> field & 1U) != 0 ? kHigh : kLow);
    REQUIRE((fields(row) == mixed(high_fields)));
    // Each field turned over and back leaves the others as they were.
    for (int field = 0; field < kFields; ++field) {
      set(row, field, (high_fields >> field & 1U) != 0 ? kLow : kHigh);
      REQUIRE((fields(row) == mixed(high_fields ^ 1U << field)));
      set(row, field, (high_fields >> field & 1U) != 0 ? kHigh : kLow);
    }
  }
}

TEST_CASE("row: each bit of sequence and times is its own") {
  for (int bit = 0; bit < 40; ++bit) {
    CAPTURE(bit);
    const std::uint64_t value = std::uint64_t{1} << bit;
    Row row;
    row.set_sequence(Sequence(value));
    row.set_created(value);
    row.set_time(value);
    row.set_lsn(Lsn(value));
    CHECK(row.sequence() == Sequence(value));
    CHECK(row.created() == value);
    CHECK(row.time() == value);
    CHECK(row.lsn() == Lsn(value));
  }
}

TEST_CASE("row: a pending group stands in the place of the LSN until that is known") {
  Row row;
  row.set_sequence(Sequence(Row::kSequenceMax));
  row.set_pending_group(GroupOrdinal(Row::kLsnMax));
  CHECK(row.pending_group() == GroupOrdinal(Row::kLsnMax));
  CHECK(row.lsn() == Lsn());
  CHECK(row.sequence() == Sequence(Row::kSequenceMax));
  row.set_lsn(Lsn(1));
  CHECK(row.lsn() == Lsn(1));
  CHECK(row.pending_group() == GroupOrdinal());
}

TEST_CASE("row: live and ended are what the states say") {
  Row row;
  const std::array<std::pair<bool, bool>, 6> expected{
      {{false, false}, {true, false}, {true, false}, {false, true}, {false, true}, {false, true}}};
  for (std::size_t state = 0; state < expected.size(); ++state) {
    row.set_state(static_cast<ReservationState>(state));
    CHECK(row.live() == expected[state].first);
    CHECK(row.ended() == expected[state].second);
  }
}

TEST_CASE("row: a free one names the next") {
  Row row;
  row.set_next_free(UINT32_MAX);
  CHECK(row.next_free() == UINT32_MAX);
  CHECK(row.state() == ReservationState::none);
}
