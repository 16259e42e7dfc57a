#include "server/item_view.h"

#include "tests/doctest.h"

using namespace holdfast;

namespace {

constexpr std::uint64_t kBuyer = 0x1234567812345678;
constexpr std::uint64_t kStranger = 0x8765432187654321;

/// A view of a sold-out item of which kBuyer has one, as ID kBuyer.
struct Published {
  ViewFilter users{10};
  ViewFilter ids{10};
  ItemView view;
  ViewContent content{{ReserveOutcome::sold_out, Sequence(7), 3, {}}, 2, std::chrono::nanoseconds(1000), &users, &ids};
  ViewQuestion question{1, kStranger, {}, std::chrono::nanoseconds(999), wall_time(5)};

  Published() {
    users.add(kBuyer);
    ids.add(kBuyer);
    view.publish(content);
  }
  void publish_again() {
    view.withdraw();
    view.publish(content);
  }
};

}  // namespace

TEST_CASE("item_view: a published one refuses and tells what it knows") {
  Published item;
  const auto refusal = item.view.read(item.question);
  REQUIRE(refusal.has_value());
  CHECK(refusal->outcome == ReserveOutcome::sold_out);
  CHECK(refusal->sequence == Sequence(7));
  CHECK(refusal->reserved == 3);
}

TEST_CASE("item_view: one that was never published, or is withdrawn, says nothing") {
  ItemView view;
  CHECK_FALSE(view.read({}).has_value());
  Published item;
  item.view.withdraw();
  CHECK_FALSE(item.view.read(item.question).has_value());
  item.view.publish(item.content);
  CHECK(item.view.read(item.question).has_value());
  CHECK(item.view.version.load(std::memory_order_relaxed) == 4);
}

TEST_CASE("item_view: its time ends exclusively") {
  Published item;
  item.question.hold = std::chrono::nanoseconds(1000);
  CHECK_FALSE(item.view.read(item.question).has_value());
}

TEST_CASE("item_view: more than the limit, users who may have some and ids that may be known are for the owner") {
  Published item;
  item.question.quantity = 2;
  CHECK(item.view.read(item.question).has_value());
  item.question.quantity = 3;
  CHECK_FALSE(item.view.read(item.question).has_value());
  item.question.quantity = 1;
  item.question.user = kBuyer;
  CHECK_FALSE(item.view.read(item.question).has_value());
  item.question.user = kStranger;
  item.question.id = kStranger;
  CHECK(item.view.read(item.question).has_value());
  item.question.id = kBuyer;
  CHECK_FALSE(item.view.read(item.question).has_value());
}

TEST_CASE("item_view: without a limit everybody is refused, whatever he has") {
  Published item;
  item.content.limit = 0;
  item.content.users = nullptr;
  item.publish_again();
  item.question.user = kBuyer;
  item.question.quantity = kStockMax;
  CHECK(item.view.read(item.question).has_value());
}

TEST_CASE("item_view: a limit of more than 32 bits does not become a smaller one") {
  Published item;
  item.content.limit = (std::int64_t{1} << 32) + 1;
  item.publish_again();
  item.question.quantity = 100;
  CHECK(item.view.read(item.question).has_value());
  item.question.quantity = std::int64_t{1} << 32;
  CHECK_FALSE(item.view.read(item.question).has_value());
}

TEST_CASE("item_view: one that is not open yet is for the owner from the moment it opens") {
  Published item;
  item.content.refusal.outcome = ReserveOutcome::not_open;
  item.content.refusal.opens_at = wall_time(6);
  item.publish_again();
  REQUIRE(item.view.read(item.question).has_value());
  CHECK(item.view.read(item.question)->opens_at == wall_time(6));
  item.question.wall = wall_time(6);
  CHECK_FALSE(item.view.read(item.question).has_value());
  item.content.refusal.opens_at = WallTime();
  item.publish_again();
  CHECK(item.view.read(item.question).has_value());
}
