#include "server/row_chunks.h"

#include "tests/simulation/seeded_random.h"

#include "tests/doctest.h"

#include <map>

using namespace holdfast;

namespace {

RowSlot reserved(RowChunks& chunks, std::uint64_t deadline) {
  const RowSlot slot = chunks.take();
  chunks.at(slot).set_state(ReservationState::reserved);
  chunks.at(slot).set_time(deadline);
  chunks.note_deadline(slot);
  return slot;
}

void end(RowChunks& chunks, RowSlot slot, std::uint64_t sequence) {
  chunks.at(slot).set_state(ReservationState::released);
  chunks.at(slot).set_sequence(Sequence(sequence));
  chunks.note_ended(slot);
}

}  // namespace

TEST_CASE("row chunks: slots are dense, and a freed one is the next that is taken") {
  RowChunks chunks;
  for (std::uint32_t i = 0; i < 3 * RowChunks::kChunkRows; ++i) {
    const RowSlot slot = reserved(chunks, i);
    REQUIRE(slot == RowSlot(i));
  }
  chunks.give_back(RowSlot(5));
  chunks.give_back(RowSlot(2'000));
  CHECK(chunks.at(RowSlot(5)).state() == ReservationState::none);
  CHECK(chunks.take() == RowSlot(2'000));
  CHECK(chunks.take() == RowSlot(5));
  CHECK(chunks.take() == RowSlot(3 * RowChunks::kChunkRows));
  CHECK(chunks.end() == 3 * RowChunks::kChunkRows + 1);
}

TEST_CASE("row chunks: rows stay as they are while the first chunk grows") {
  RowChunks chunks;
  for (std::uint32_t i = 0; i < 2 * RowChunks::kChunkRows; ++i) {
    reserved(chunks, 1'000 + i);
    for (const std::uint32_t other : {std::uint32_t{0}, i / 2, i}) {
      REQUIRE(chunks.at(RowSlot(other)).time() == 1'000 + other);
    }
  }
}

TEST_CASE("row chunks: a small item is small") {
  RowChunks chunks;
  reserved(chunks, 1);
  CHECK(chunks.bytes() < 3'000);
}

TEST_CASE("row chunks: quantities of 1 to 2^53-1, inline or beside") {
  RowChunks chunks;
  std::map<std::uint32_t, std::int64_t> expected;
  for (const std::int64_t quantity :
       {std::int64_t{1}, Row::kInlineQuantityMax, Row::kInlineQuantityMax + 1, kStockMax}) {
    const RowSlot slot = reserved(chunks, 1);
    chunks.set_quantity(slot, quantity);
    expected[slot.value()] = quantity;
  }
  while (chunks.end() < 100) chunks.set_quantity(reserved(chunks, 1), 3);
  for (const auto& [slot, quantity] : expected) CHECK(chunks.quantity(RowSlot(slot)) == quantity);
  // A slot that is used again does not remember the large one.
  chunks.give_back(RowSlot(3));
  const RowSlot again = reserved(chunks, 1);
  REQUIRE(again == RowSlot(3));
  chunks.set_quantity(again, 2);
  CHECK(chunks.quantity(again) == 2);
}

TEST_CASE("row chunks: a row without a deadline is never due") {
  RowChunks chunks;
  reserved(chunks, Row::kNoDeadline);
  CHECK(chunks.deadline_bound() == RowChunks::kNever);
  int looks = 100;
  CHECK(!chunks.earliest_deadline(Row::kTimeMax, looks));
  CHECK(looks == 100);
}

TEST_CASE("row chunks: the earliest deadline and the oldest ended row are found, whatever happens to rows") {
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    CAPTURE(seed);
    RowChunks chunks;
    simulation::Dice dice(seed);
    std::map<std::uint32_t, std::uint64_t> deadlines;
    std::map<std::uint32_t, std::uint64_t> ended;
    std::uint64_t sequence = 0;
    const auto any = [&](const auto& rows) {
      return RowSlot(std::next(rows.begin(), static_cast<std::ptrdiff_t>(dice.below(rows.size())))->first);
    };
    const auto smallest = [](const auto& rows) {
      std::uint64_t value = RowChunks::kNever;
      for (const auto& row : rows) value = std::min(value, row.second);
      return value;
    };
    for (int round = 0; round < 6'000; ++round) {
      const auto what = dice.below(8);
      if (what < 4 || deadlines.empty()) {
        const std::uint64_t deadline = dice.chance(1, 20) ? Row::kTimeMax : dice.below(500);
        deadlines[reserved(chunks, deadline).value()] = deadline;
      } else if (what == 4) {
        const RowSlot slot = any(deadlines);
        std::uint64_t& deadline = deadlines[slot.value()];
        deadline = std::min(deadline + dice.below(100), Row::kTimeMax);
        chunks.at(slot).set_time(deadline);
        chunks.note_deadline(slot);
      } else if (what < 7) {
        const RowSlot slot = any(deadlines);
        deadlines.erase(slot.value());
        end(chunks, slot, ++sequence);
        ended[slot.value()] = sequence;
      } else if (!ended.empty()) {
        const RowSlot slot = any(ended);
        ended.erase(slot.value());
        chunks.give_back(slot);
      }
      REQUIRE(chunks.deadline_bound() <= smallest(deadlines));
      if (!dice.chance(1, 3)) continue;
      int looks = 1'000'000;
      const auto due = chunks.earliest_deadline(RowChunks::kNever - 1, looks);
      REQUIRE(due.has_value() == !deadlines.empty());
      if (due) REQUIRE(deadlines.at(due->value()) == smallest(deadlines));
      const auto oldest = chunks.oldest_ended();
      REQUIRE(oldest.has_value() == !ended.empty());
      if (oldest) REQUIRE(ended.at(oldest->value()) == smallest(ended));
    }
  }
}

TEST_CASE("row chunks: taking them down step by step shows each row in use once") {
  RowChunks chunks;
  const std::uint32_t count = 3 * RowChunks::kChunkRows + 7;
  for (std::uint32_t i = 0; i < count; ++i) reserved(chunks, i);
  chunks.give_back(RowSlot(9));
  std::uint32_t seen = 0;
  int steps = 1;
  while (!chunks.release_some(1, [&](const Row&) { ++seen; })) ++steps;
  CHECK(seen == count - 1);
  CHECK(steps == 4);
}
