#include "server/gate.h"

#include "tests/doctest.h"

#include <string>

using namespace holdfast;

namespace {

constexpr ThreadIndex kThread{0};

ReplyAddress slot(std::uint32_t number) { return {{1, 1}, ReplySlot(number)}; }

/// The bytes of all replies that are ready, in their order.
std::string ready(Gate& gate, ThreadIndex thread = kThread) {
  std::string bytes;
  while (auto block = gate.take(thread)) {
    for (std::size_t i = 0; i < block->size(); ++i) bytes += block->reply(i).bytes;
    gate.give_back(std::move(block));
  }
  return bytes;
}

}  // namespace

TEST_CASE("gate: what rests on nothing goes at once, what rests on a group when that is durable") {
  Gate gate(1);
  gate.open(GroupOrdinal(1));
  gate.reply(kThread, slot(1), GroupOrdinal(1), "a");
  gate.reply(kThread, slot(2), {}, "b");
  CHECK(ready(gate) == "b");
  CHECK(gate.waiting() == 1);
  gate.open(GroupOrdinal(2));
  gate.reply(kThread, slot(3), GroupOrdinal(2), "c");
  gate.reply(kThread, slot(4), GroupOrdinal(1), "d");
  CHECK(ready(gate) == "");
  gate.release(GroupOrdinal(1));
  CHECK(ready(gate) == "ad");
  gate.release(GroupOrdinal(2));
  CHECK(ready(gate) == "c");
  CHECK(gate.waiting() == 0);
}

TEST_CASE("gate: replies travel to the thread of their connection, in full blocks") {
  Gate gate(2);
  gate.open(GroupOrdinal(1));
  for (std::uint32_t i = 0; i < 200; ++i) gate.reply(ThreadIndex(1), slot(i), GroupOrdinal(1), "x");
  gate.release(GroupOrdinal(1));
  CHECK(gate.take(ThreadIndex(0)) == nullptr);
  auto block = gate.take(ThreadIndex(1));
  REQUIRE(block != nullptr);
  CHECK(block->size() == kBlockCommandsMax);
  CHECK(block->reply(5).address.slot == ReplySlot(5));
  CHECK(ready(gate, ThreadIndex(1)).size() == 200 - kBlockCommandsMax);
}
