// What the inventory promises beyond replies: the gate, groups, ids, its hash, its memory.
#include "tests/unit/server/step_bench.h"

#include <fmt/format.h>

#include "tests/doctest.h"

using namespace holdfast;
using namespace holdfast::testing;

namespace {

constexpr GroupOrdinal kAtOnce{};

std::string id_text(std::uint64_t number) { return fmt::format("00000000-0000-4000-8000-{:012}", number); }

Item& item(Inventory& inventory, std::string_view name) { return *InventoryAccess::item(inventory, name); }

/// The reply's group after a command.
GroupOrdinal rests_on(StepBench& bench, std::string_view line) {
  bench.run(line);
  return bench.last_result().rests_on;
}

}  // namespace

TEST_CASE("gate: a reply rests on the group of its item's last change until that is durable") {
  StepBench bench;
  CHECK(rests_on(bench, "ITEM GET a") == kAtOnce);
  bench.open_group();
  CHECK(rests_on(bench, "ITEM CREATE a STOCK 2") == GroupOrdinal(1));
  CHECK(rests_on(bench, "ITEM CREATE b STOCK 2") == GroupOrdinal(1));
  CHECK(rests_on(bench, "RESERVE none u") == GroupOrdinal(1));
  bench.make_durable();
  for (const char* read : {"ITEM GET a", "RESERVE none u", "ITEM LIST", "GET {a}:stock", "EXISTS {a}:stock",
                           "RESERVATION LIST a", "ITEM VERIFY *"}) {
    CAPTURE(read);
    CHECK(rests_on(bench, read) == kAtOnce);
  }
  bench.open_group();
  CHECK(rests_on(bench, "RESERVE a u") == GroupOrdinal(2));
  // Reads, refusals and replays of the item wait with it; those of other items do not, what is about all items does.
  for (const char* waits : {"RESERVE a u", "ITEM GET a", "CONFIRM a nobody", "GET {a}:stock", "SISMEMBER {a}:buyers u",
                            "RESERVATION LIST a", "SCARD {a}:buyers", "ITEM VERIFY a", "EXTEND a u TTL 1"}) {
    CAPTURE(waits);
    CHECK(rests_on(bench, waits) == GroupOrdinal(2));
  }
  for (const char* waits :
       {"ITEM LIST", "RESERVE none u", "GET {none}:stock", "ITEM VERIFY *", "ITEM DROP none", "EXISTS {none}:stock"}) {
    CAPTURE(waits);
    CHECK(rests_on(bench, waits) == GroupOrdinal(2));
  }
  CHECK(rests_on(bench, "ITEM GET b") == kAtOnce);
  CHECK(rests_on(bench, "GET {b}:stock") == kAtOnce);
  CHECK(rests_on(bench, "TYPE {b}:stock") == kAtOnce);
  bench.make_durable();
  CHECK(rests_on(bench, "ITEM GET a") == kAtOnce);
}

TEST_CASE("gate: that an id is forgotten is told only when that is durable") {
  Inventory::Settings settings;
  settings.ended_max = 0;
  StepBench bench(settings);
  bench.open_group();
  bench.run("ITEM CREATE a STOCK 2");
  bench.run("RESERVE a u ID " + id_text(1));
  bench.run("RELEASE a u ID " + id_text(1));
  bench.make_durable();
  bench.open_group();
  bench.sweep();
  CHECK(rests_on(bench, "RESERVATION GET a ID " + id_text(1)) == GroupOrdinal(2));
}

TEST_CASE("gate: a RESERVE of a sale rests on all items of the sale") {
  StepBench bench;
  bench.open_group();
  bench.run("ITEM CREATE {s}a STOCK 2 SCOPE sale");
  bench.run("ITEM CREATE {s}b STOCK 2 SCOPE sale");
  bench.make_durable();
  bench.open_group();
  bench.run("RESERVE {s}a u");
  CHECK(rests_on(bench, "RESERVE {s}b u") == GroupOrdinal(2));
  CHECK(rests_on(bench, "ITEM GET {s}b") == kAtOnce);
  bench.make_durable();
  CHECK(rests_on(bench, "RESERVE {s}b u") == kAtOnce);
}

TEST_CASE("gate: a dropped item, and housekeeping, hold back what is about all items") {
  StepBench bench;
  bench.open_group();
  bench.run("ITEM CREATE a STOCK 2");
  bench.make_durable();
  bench.open_group();
  CHECK(rests_on(bench, "ITEM DROP a") == GroupOrdinal(2));
  CHECK(rests_on(bench, "ITEM GET a") == GroupOrdinal(2));
  bench.make_durable();
  CHECK(rests_on(bench, "ITEM GET a") == kAtOnce);
  bench.open_group();
  CHECK(rests_on(bench, "ITEM RETURNS * HOLD") == GroupOrdinal(3));
}

TEST_CASE("groups: rows get the LSN of their last change once it is durable, as the replica has it from the log") {
  StepBench bench;
  bench.run("ITEM CREATE a STOCK 100 LIMIT 0");
  for (std::uint64_t group = 0; group < 6; ++group) {
    bench.open_group();
    for (std::uint64_t i = 0; i < 8; ++i)
      bench.run(fmt::format("RESERVE a u{} ID {}", i, id_text(100 * group + i + 1)));
    bench.run("CONFIRM a u1 ID " + id_text(100 * group + 2));
    bench.run("REFUND a u1 ID " + id_text(100 * group + 2));
    if (group > 0) bench.run("RELEASE a u3 ID " + id_text(100 * group - 96));
    bench.make_durable();
  }
  const ItemRows& live = *item(bench.inventory(), "a").rows;
  const ItemRows& replica = *item(bench.replica(), "a").rows;
  REQUIRE(live.slots_end() == 48);
  for (std::uint32_t slot = 0; slot < live.slots_end(); ++slot) {
    CAPTURE(slot);
    CHECK(live.row(RowSlot(slot)).lsn() == replica.row(RowSlot(slot)).lsn());
    CHECK(live.row(RowSlot(slot)).lsn() != Lsn());
  }
}

TEST_CASE("groups: a slot that was forgotten and used again in one group belongs to its last row") {
  Inventory::Settings settings;
  settings.ended_max = 0;
  StepBench bench(settings);
  bench.run("ITEM CREATE a STOCK 100 LIMIT 0");
  bench.open_group();
  bench.run("RESERVE a u");
  bench.run("RELEASE a u");
  bench.sweep();
  bench.run("RESERVE a v");
  bench.run("ITEM CREATE b STOCK 5");
  bench.run("RESERVE b v");
  bench.run("ITEM DROP b CONFIRMED-TOO");
  bench.make_durable();
  const ItemRows& live = *item(bench.inventory(), "a").rows;
  REQUIRE(live.slots_end() == 1);
  CHECK(live.row(RowSlot(0)).lsn() == item(bench.replica(), "a").rows->row(RowSlot(0)).lsn());
}

TEST_CASE("groups: changes of an item that is gone by then are passed over") {
  StepBench bench;
  bench.open_group();
  bench.run("ITEM CREATE a STOCK 5");
  bench.run("RESERVE a u");
  bench.run("CONFIRM a u");
  bench.run("ITEM DROP a CONFIRMED-TOO");
  bench.run("ITEM CREATE other STOCK 5");
  bench.make_durable();
  CHECK(bench.run("ITEM GET other").at("available").number == 5);
}

TEST_CASE("ids: the server's own are the same for the same commands under one secret, and others under another") {
  const auto made = [](std::uint8_t secret) {
    Inventory::Settings settings;
    settings.secret.fill(secret);
    StepBench bench(settings);
    bench.run("ITEM CREATE a STOCK 5");
    bench.run("RESERVE a u");
    bench.pass(Millis(3));
    return bench.run("RESERVE a v DETAILS").at("id").text;
  };
  CHECK(made(1) == made(1));
  CHECK(made(1) != made(2));
}

TEST_CASE("state hash: of nothing is zero, changes with every change, and does not know when it was taken") {
  StepBench bench;
  CHECK(bench.inventory().seal() == StateHash());
  bench.run("ITEM CREATE a STOCK 5");
  const StateHash one = bench.inventory().seal();
  CHECK(!(one == StateHash()));
  CHECK(bench.inventory().seal() == one);
  bench.run("RESERVE a u");
  CHECK(!(bench.inventory().seal() == one));
  bench.run("ITEM CREATE b STOCK 5");
  RecordTape nothing;
  Inventory at_once({}, nothing);
  REQUIRE(bench.tape().play(0, at_once).has_value());
  CHECK(at_once.seal() == bench.inventory().seal());
  bench.run("RELEASE a u");
  bench.run("ITEM DROP a");
  bench.run("ITEM DROP b");
  CHECK(bench.inventory().seal() == StateHash());
}

TEST_CASE("memory: is counted by kind, and comes back when items go") {
  StepBench bench;
  const InventoryMemory empty = bench.inventory().memory();
  bench.run("ITEM CREATE a STOCK 20000");
  for (int i = 0; i < 5000; ++i) bench.run(fmt::format("RESERVE a a-long-name-of-user-{}", i));
  const InventoryMemory full = bench.inventory().memory();
  CHECK(full.rows >= empty.rows + 5000 * sizeof(Row));
  CHECK(full.indexes > empty.indexes + 5000 * 10);
  CHECK(full.names > empty.names + 5000 * 16);
  for (int i = 0; i < 5000; ++i) bench.run(fmt::format("RELEASE a a-long-name-of-user-{}", i));
  bench.run("ITEM DROP a");
  CHECK(bench.inventory().next_due(bench.now()) <= bench.now().hold);
  bench.sweep();
  CHECK(bench.inventory().memory().rows <= empty.rows + 1000);
  // The next item of that size uses what the indexes and names left behind.
  bench.run("ITEM CREATE b STOCK 20000");
  for (int i = 0; i < 5000; ++i) bench.run(fmt::format("RESERVE b a-long-name-of-user-{}", i));
  CHECK(bench.inventory().memory().names == full.names);
}

TEST_CASE("find: a position of ITEM LIST is stable for a name, and empty at a tombstone") {
  StepBench bench;
  bench.run("ITEM CREATE a STOCK 5");
  bench.run("ITEM CREATE b STOCK 5");
  CHECK(bench.inventory().item_count() == 2);
  bench.run("ITEM DROP a");
  CHECK(bench.inventory().item_count() == 1);
  CHECK(bench.inventory().positions_end() == 2);
  CHECK(bench.inventory().at_position(0, bench.now()) == nullptr);
  CHECK(bench.inventory().at_position(1, bench.now()) == &item(bench.inventory(), "b"));
}
