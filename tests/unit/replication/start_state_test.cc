#include "replication/start_state.h"

#include "tests/simulation/simulated_disk.h"
#include "tests/unit/replication/log_maker.h"

#include <fmt/format.h>

#include "tests/doctest.h"

using namespace holdfast;
using namespace holdfast::test;

namespace {

using Verb = ReservationEvent;

struct Lines final : StartVisitor {
  std::vector<std::string> lines;
  std::vector<std::size_t> pieces;

  Result<void> on_item(const StartItem& item) override {
    lines.push_back(fmt::format("{} {} {} {} {}", item.facts->number.value(), item.facts->name,
                                item.facts->version.value(), item.sequence.value(), item.counters.available));
    return {};
  }
  Result<void> on_orders(const StartItem& item, std::span<const OrderChange> orders) override {
    pieces.push_back(orders.size());
    for (const OrderChange& order : orders) {
      CHECK(order.item == item.facts->number);
      CHECK(!order.from);
      const auto ms = [](WallTime time) { return to_ms(time) - 1'700'000'000'000; };
      lines.push_back(fmt::format("{} {} {} {} {} {} {} {}", id_text(order.id).substr(34), order.user,
                                  order.quantity.value(), status_name(order.to), ms(order.reserved_at),
                                  order.expires_at ? ms(*order.expires_at) : -1, ms(order.last_at), order.price));
    }
    return {};
  }
};

}  // namespace

TEST_CASE("start_state: items and reservations as they stand, with times of the wall clock") {
  LogMaker log;
  simulation::SimulatedDisk disk;
  ItemDefinition definition;
  definition.price = 995;
  auto& item = log.create("a", 10, definition);
  for (std::uint64_t id = 1; id <= 5; ++id) log.reserve(item, id, std::to_string(id), 1 + static_cast<int>(id % 2));
  log.hold += Millis(250);
  log.wall += Millis(250);
  log.follow(item, 2, Verb::confirm);
  log.follow(item, 3, Verb::release);
  log.follow(item, 4, Verb::expire);
  log.follow(item, 5, Verb::confirm);
  log.follow(item, 5, Verb::refund);
  log.create("b", 7);
  log.batch();
  auto snapshot = log.snapshot(disk);
  StartState state(snapshot);
  CHECK(state.log() == log.log);
  CHECK(state.lsn() == Lsn(log.next_lsn().value() - 1));
  CHECK(state.at() == log.wall);
  Lines lines;
  REQUIRE(state.read(lines).has_value());
  CHECK(lines.lines == std::vector<std::string>{"1 a 1 12 7", "01 1 2 PENDING 0 600000 0 995", "02 2 1 PAID 0 -1 0 995",
                                                "03 3 2 CANCELLED 0 -1 250 995", "04 4 1 EXPIRED 0 -1 250 995",
                                                "05 5 2 REFUNDED 0 -1 250 995", "2 b 1 2 7"});
}

TEST_CASE("start_state: rows come in bounded pieces, and an error of the visitor ends it") {
  LogMaker log;
  simulation::SimulatedDisk disk;
  auto& item = log.create("a", 20'000);
  for (std::uint64_t id = 1; id <= 12'000; ++id) log.reserve(item, id, std::to_string(id));
  log.batch();
  auto snapshot = log.snapshot(disk);
  StartState state(snapshot);
  Lines lines;
  REQUIRE(state.read(lines).has_value());
  CHECK(lines.pieces == std::vector<std::size_t>{5000, 5000, 2000});

  struct Refusing final : StartVisitor {
    Result<void> on_item(const StartItem&) override { return {}; }
    Result<void> on_orders(const StartItem&, std::span<const OrderChange>) override {
      return Error(ErrorCode::no_space, "full");
    }
  } refusing;
  const auto read = state.read(refusing);
  REQUIRE(!read);
  CHECK(read.error().code() == ErrorCode::no_space);
}
