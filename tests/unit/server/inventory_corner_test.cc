// Corners of the inventory that a sale meets seldom: very old versions, numbers at their ends, walls of reservations
// that did not wait for their deadline, sales whose items come and go.
#include "tests/unit/server/step_bench.h"

#include "tests/doctest.h"

#include <string>

using namespace holdfast;
using holdfast::testing::StepBench;

namespace {

constexpr Millis kYear = std::chrono::hours(24 * 365);
const std::string kId = "00000000-0000-4000-8000-000000000001";

}  // namespace

TEST_CASE("inventory: a version older than a row can tell still ends its reservations") {
  StepBench bench;
  bench.ask("ITEM CREATE i STOCK 10 LIMIT 0 TTL 315360000000 MAX-HOLD 315360000000");
  CHECK(bench.ask("RESERVE i 1 ID " + kId) == "9");
  CHECK(bench.ask("CONFIRM i 1 ID " + kId) == "1");
  bench.pass(30 * kYear);
  CHECK(bench.ask("RESERVE i 2").starts_with("-ERR this version was loaded too long ago"));
  CHECK(bench.ask("RESERVE i 2 TTL 1000") == "8");
  bench.pass(30 * kYear);
  bench.sweep();
  CHECK(bench.ask("GET i:stock") == "\"9\"");
  CHECK(bench.ask("REFUND i 1 ID " + kId) == "10");
  CHECK(bench.ask("RESERVE i 3 TTL 1000").starts_with("-ERR this version was loaded too long ago"));
  bench.pass(kYear);
  bench.sweep();
  bench.compare_all();
}

TEST_CASE("inventory: what ended without waiting for its deadline stops no command for long") {
  StepBench bench;
  bench.ask("ITEM CREATE i STOCK 1000000 LIMIT 0");
  Inventory& inventory = bench.inventory();
  Item& item = *InventoryAccess::item(inventory, "i");
  const std::uint32_t rows = 64 * (Inventory::kLooksMax + 100);
  for (std::uint32_t n = 0; n < rows; ++n) {
    const auto answer = inventory.reserve(item, {item.name(), UserId::from_number(n)}, bench.now());
    REQUIRE(answer.has_value());
    const VerbRequest verb{item.name(), UserId::from_number(n)};
    REQUIRE(inventory.confirm(item, verb, bench.now()).has_value());
  }
  bench.pass(std::chrono::minutes(10));
  const ReserveRequest too_many{item.name(), UserId::from_number(1'000'000), 1'000'000};
  const auto first = inventory.reserve(item, too_many, bench.now());
  REQUIRE(first.has_error());
  CHECK(first.error().code() == ErrorCode::overloaded);
  const auto second = inventory.reserve(item, too_many, bench.now());
  REQUIRE(second.has_value());
  CHECK(second->outcome == ReserveOutcome::sold_out);
  CHECK_FALSE(inventory.sweep(bench.now()));
}

TEST_CASE("inventory: sequence numbers that run out refuse what is new and let go of what is there") {
  StepBench bench;
  bench.ask("ITEM CREATE i STOCK 10 LIMIT 0");
  Inventory& inventory = bench.inventory();
  Item& item = *InventoryAccess::item(inventory, "i");
  item.sequence = Sequence(kSequenceMax - Inventory::kSequencesKept - 2);
  const Now now = bench.now();
  const VerbRequest verb{item.name(), UserId::from_number(1)};
  REQUIRE(inventory.reserve(item, {item.name(), *verb.user}, now).has_value());
  REQUIRE(inventory.reserve(item, {item.name(), UserId::from_number(2)}, now).has_value());
  const auto refused = inventory.reserve(item, {item.name(), UserId::from_number(3)}, now);
  REQUIRE(refused.has_error());
  CHECK(refused.error().text() == "this version has used up its sequence numbers; load a new version");
  CHECK(inventory.adjust(item, {item.name(), 1, {}, "more"}, now).has_error());
  REQUIRE(inventory.confirm(item, verb, now).has_value());
  CHECK(item.rows->row(*item.rows->find_user(*verb.user).newest_confirmed).sequence() == item.sequence);
  const Now later{now.hold + std::chrono::hours(1), now.wall + std::chrono::hours(1), {}};
  CHECK_FALSE(inventory.sweep(later));
  CHECK(item.counters == Counters{9, 0, 1, 0});
  CHECK(inventory.move(item, ItemEvent::close, later).has_value());
  CHECK(inventory.load({item.name(), item.version.next(), item.definition, true}, later).has_value());
}

TEST_CASE("inventory: an answer rests on an item that has left the sale") {
  StepBench bench;
  bench.ask("ITEM CREATE {s}a STOCK 10 SCOPE sale");
  bench.ask("ITEM CREATE {s}b STOCK 0 SCOPE sale");
  bench.ask("RESERVE {s}a 1");
  bench.ask("CONFIRM {s}a 1");
  bench.ask("ITEM CLOSE {s}a");
  bench.open_group();
  bench.make_durable();
  bench.open_group();
  CHECK(bench.ask("RESERVE {s}b 1") == "-2");
  CHECK(bench.last_result().rests_on == GroupOrdinal());
  bench.ask("ITEM CREATE {s}a VERSION 2 STOCK 10");  // no longer of the sale
  CHECK(bench.ask("RESERVE {s}b 1") == "-1");
  CHECK(bench.last_result().rests_on != GroupOrdinal());
}

TEST_CASE("inventory: many items that are gone are given back in several sweeps") {
  StepBench bench;
  for (int n = 0; n < 2 * Inventory::kRetiredMax; ++n) {
    const std::string name = "i" + std::to_string(n);
    bench.ask("ITEM CREATE " + name + " STOCK 1");
    bench.ask("ITEM DROP " + name);
  }
  CHECK(bench.inventory().sweep(bench.now()));
  CHECK_FALSE(bench.inventory().sweep(bench.now()));
}

TEST_CASE("inventory: ids that are not kept at all harm no command") {
  Inventory::Settings settings;
  settings.ended_max = 0;
  settings.ended_retention = Millis(1);
  StepBench bench(settings);
  bench.ask("ITEM CREATE i STOCK 10 LIMIT 0");
  const std::string reserve = fmt::format("RESERVE i {} ID {}", std::string(128, 'u'), kId);
  const std::string release = fmt::format("RELEASE i {} ID {}", std::string(128, 'u'), kId);
  for (int n = 0; n < 3'000; ++n) {
    REQUIRE(bench.ask(reserve) == "9");
    REQUIRE(bench.ask(release) == "10");
    bench.pass(Millis(1));
    if (n % 500 == 0) bench.sweep();
    if (bench.inventory().find(*ItemName::parse("i"), bench.now())->rows->row_count() > 0) bench.sweep();
  }
  bench.compare_all();
}
