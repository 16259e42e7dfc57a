#include "replication/room_plan.h"

#include "tests/unit/replication/event_tape.h"

#include <map>

#include "tests/doctest.h"

using namespace holdfast;
using namespace holdfast::test;

namespace {

using Verb = ReservationEvent;

/// An item's events as steps, and what is parked of it.
struct Plans {
  Plans() { tape.next(); }
  /// "W" write, "P" park, "F" follow for each step that is planned.
  std::string plan(std::optional<ItemRoom> room) {
    events = tape.next();
    steps.clear();
    std::int64_t total_before = 100;
    for (const Event& event : events) {
      steps.push_back({&event, total(event.after) - total_before});
      total_before = total(event.after);
    }
    planned = plan_steps(steps, room, [this](const Event& event) -> const ParkedChain* {
      const auto place = open.find(chain_key(event));
      return place == open.end() ? nullptr : &place->second;
    });
    std::string text;
    for (const PlannedStep& step : planned) text += "WPF"[static_cast<std::size_t>(step.fate)];
    return text;
  }
  /// Parks what the first step of the last plan is about.
  void keep(ParkReason reason) {
    ParkedChain chain = begin_chain(steps.front(), reason, "");
    open.emplace(chain.key, std::move(chain));
  }

  LogMaker log;
  LogMaker::Item& item = log.create("i", 100);
  EventTape tape{log};
  std::vector<Event> events;
  std::vector<EventStep> steps;
  std::vector<PlannedStep> planned;
  std::map<std::string, ParkedChain> open;
};

}  // namespace

TEST_CASE("room_plan: what fits is written in the log's order, what does not is parked with what there was") {
  Plans plans;
  plans.log.reserve(plans.item, 1, "a", 2);
  plans.log.reserve(plans.item, 2, "b", 3);
  plans.log.reserve(plans.item, 3, "c", 1);
  plans.log.follow(plans.item, 1, Verb::release);
  plans.log.reserve(plans.item, 4, "d", 2);
  plans.log.follow(plans.item, 3, Verb::confirm);
  CHECK(plans.plan(ItemRoom{4, 1}) == "WPWWWW");
  CHECK(plans.planned[1].room.sold == 3);
  CHECK(plans.planned[5].room.sold == 4);
}

TEST_CASE("room_plan: changes of stock make room or find none") {
  Plans plans;
  plans.log.change(plans.item, ItemEvent::stock, -2);
  plans.log.change(plans.item, ItemEvent::adjust, 2, id_of(1));
  plans.log.reserve(plans.item, 1, "a", 2);
  plans.log.follow(plans.item, 1, Verb::release, true);
  CHECK(plans.plan(ItemRoom{1, 0}) == "PWWW");
  CHECK(plans.planned.back().room.quantity == 1);
}

TEST_CASE("room_plan: later events follow what was parked, also before this plan") {
  Plans plans;
  plans.log.reserve(plans.item, 1, "a");
  CHECK(plans.plan(ItemRoom{0, 0}) == "P");
  plans.keep(ParkReason::no_room);
  plans.log.follow(plans.item, 1, Verb::confirm);
  plans.log.reserve(plans.item, 2, "b");
  plans.log.follow(plans.item, 2, Verb::extend);
  plans.log.follow(plans.item, 2, Verb::expire);
  plans.log.follow(plans.item, 1, Verb::refund);
  plans.log.reserve(plans.item, 3, "c");
  CHECK(plans.plan(ItemRoom{0, 0}) == "FPFFFP");
}

TEST_CASE("room_plan: ends before a reservation comes back whose chain ended, and behind one that moves sums") {
  Plans plans;
  plans.log.reserve(plans.item, 1, "a");
  plans.log.follow(plans.item, 1, Verb::expire);
  plans.log.reserve(plans.item, 2, "b");
  plans.log.follow(plans.item, 1, Verb::resume);
  CHECK(plans.plan(ItemRoom{0, 0}) == "PFP");
  plans.log.reserve(plans.item, 3, "c");
  plans.log.follow(plans.item, 3, Verb::release, true);
  plans.log.reserve(plans.item, 4, "d");
  CHECK(plans.plan(ItemRoom{0, 0}) == "PF");
  // A chain whose row is there frees what that holds.
  plans.log.follow(plans.item, 4, Verb::confirm);
  CHECK(plans.plan(std::nullopt) == "P");
  plans.keep(ParkReason::foreign_row);
  plans.log.follow(plans.item, 4, Verb::refund);
  plans.log.reserve(plans.item, 5, "e");
  CHECK(plans.plan(ItemRoom{0, 0}) == "F");
}

TEST_CASE("room_plan: without a row nothing is written") {
  Plans plans;
  plans.log.reserve(plans.item, 1, "a");
  plans.log.change(plans.item, ItemEvent::set);
  CHECK(plans.plan(std::nullopt) == "PP");
}
