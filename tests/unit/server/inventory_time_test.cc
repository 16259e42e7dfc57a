// When things are due, how much one turn does, and what is forgotten.
#include "tests/unit/server/step_bench.h"

#include <fmt/format.h>

#include <map>

#include "tests/doctest.h"

using namespace holdfast;
using namespace holdfast::testing;

namespace {

std::string id_text(std::uint64_t number) { return fmt::format("00000000-0000-4000-8000-{:012}", number); }

Item& item(Inventory& inventory, std::string_view name) { return *InventoryAccess::item(inventory, name); }

}  // namespace

TEST_CASE("time: the next due moment is told, deadline or window, on the hold clock") {
  StepBench bench;
  const auto next = [&] { return bench.inventory().next_due(bench.now()) - bench.now().hold; };
  CHECK(bench.inventory().next_due(bench.now()) == HoldTime::max());
  bench.run("ITEM CREATE a STOCK 5 TTL 7000");
  CHECK(bench.inventory().next_due(bench.now()) == HoldTime::max());
  bench.run("RESERVE a u");
  CHECK(next() == Millis(7000));
  bench.run("RESERVE a v TTL 3000");
  CHECK(next() == Millis(3000));
  const auto wall = to_ms(bench.now().wall);
  bench.run(fmt::format("ITEM CREATE b STOCK 5 OPENS-AT {}", wall + 2000));
  CHECK(next() == Millis(2000));
  bench.step_wall(Millis(1500));  // the wall clock is set: the window is nearer, the deadline is not
  CHECK(next() == Millis(500));
  bench.step_wall(-std::chrono::hours(1));
  CHECK(next() == Millis(3000));
  bench.pass(Millis(3000));
  CHECK(bench.sweep() == 1);
  CHECK(next() == Millis(4000));
}

TEST_CASE("time: a sweep makes at most 2,000 changes and says whether more is due") {
  StepBench bench;
  bench.run("ITEM CREATE a STOCK 5000 TTL 10");
  bench.run("ITEM CREATE b STOCK 5000 TTL 10");
  for (int i = 0; i < 1500; ++i) {
    bench.run(fmt::format("RESERVE a {}", i));
    bench.run(fmt::format("RESERVE b {}", i));
  }
  bench.pass(Millis(10));
  const std::size_t before = bench.tape().size();
  CHECK(bench.inventory().sweep(bench.now()));
  CHECK(bench.tape().size() == before + 2000);
  CHECK(!bench.inventory().sweep(bench.now()));
  CHECK(bench.tape().size() == before + 3000);
  CHECK(bench.sweep() == 1);
  bench.compare_all();
}

TEST_CASE("time: what is swept is in the order of deadlines") {
  StepBench bench;
  bench.run("ITEM CREATE a STOCK 5000 LIMIT 0");
  for (int i = 0; i < 700; ++i) bench.run(fmt::format("RESERVE a u TTL {}", 1 + i * 7919 % 1009));
  bench.pass(Millis(2000));
  const std::size_t before = bench.tape().size();
  std::map<std::string, HoldTime> deadlines;
  for (std::size_t i = 3; i < before; ++i) {
    const auto& record = bench.tape().record<ReservationRecord>(i);
    const auto text = record.id.text();
    deadlines[{text.data(), text.size()}] = *record.deadline;
  }
  bench.sweep();
  HoldTime last{};
  for (std::size_t i = before; i < bench.tape().size(); ++i) {
    const auto text = bench.tape().record<ReservationRecord>(i).id.text();
    const HoldTime deadline = deadlines.at({text.data(), text.size()});
    REQUIRE(last <= deadline);
    last = deadline;
  }
}

TEST_CASE(
    "forgetting: commands forget by themselves once 1,024 more than ended-max have ended, at most 1,024 a record") {
  Inventory::Settings settings;
  settings.ended_max = 10;
  StepBench bench(settings);
  bench.run("ITEM CREATE a STOCK 5");
  std::uint64_t rows_max = 0;
  for (int i = 0; i < 3000; ++i) {
    bench.run("RESERVE a u");
    bench.run("RELEASE a u");
    rows_max = std::max(rows_max, item(bench.inventory(), "a").rows->row_count());
  }
  CHECK(rows_max <= 10 + Inventory::kForgetMax + 1);
  int forgets = 0;
  for (std::size_t i = 0; i < bench.tape().size(); ++i) {
    const auto* forget = std::get_if<ForgetRecord>(&bench.tape().entry(i).record);
    if (forget == nullptr) continue;
    ++forgets;
    CHECK(forget->count >= 1);
    CHECK(forget->count <= Inventory::kForgetMax);
    CHECK(bench.tape().entry(i).stamp.sequence == Sequence());
  }
  CHECK(forgets == 2);
  CHECK(bench.run("ITEM GET a").at("sequence").number == 3 + 6000);
  bench.sweep();
  CHECK(item(bench.inventory(), "a").rows->row_count() == 10);
  bench.compare_all();
}

TEST_CASE("forgetting: with ended-max 0 the one that a command speaks of stays until the sweep") {
  Inventory::Settings settings;
  settings.ended_max = 0;
  StepBench bench(settings);
  bench.run("ITEM CREATE a STOCK 5 TTL 10 LIMIT 0");
  for (std::uint64_t i = 0; i < 1500; ++i) {
    bench.run("RESERVE a u ID " + id_text(i));
    bench.pass(Millis(10));
    REQUIRE(bench.ask("RESERVE a u DETAILS ID " + id_text(i)).find("EXPIRED") != std::string::npos);
  }
  bench.sweep();
  CHECK(item(bench.inventory(), "a").rows->row_count() == 0);
}

TEST_CASE("forgetting: the default is 4 x total, at least 100,000") {
  StepBench bench;
  bench.run("ITEM CREATE a STOCK 5");
  for (int i = 0; i < 2000; ++i) {
    bench.run("RESERVE a u");
    bench.run("RELEASE a u");
  }
  bench.sweep();
  CHECK(item(bench.inventory(), "a").rows->row_count() == 2000);
}
