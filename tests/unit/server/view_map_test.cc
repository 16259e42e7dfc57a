#include "server/view_map.h"

#include "server/item_view.h"
#include "server/limits.h"

#include <fmt/format.h>

#include "tests/doctest.h"

#include <deque>

using namespace holdfast;

namespace {

const ViewHashes kHashes = ViewHashes::of({1, 2, 3});
constexpr ViewTime kNow{std::chrono::nanoseconds(100), wall_time(1'000)};

struct Known {
  ViewMap map{kHashes};
  ViewFilter users{10};
  ViewFilter ids{10};
  ItemView view;

  Known() {
    users.add(kHashes.user(*UserId::parse("buyer")));
    ids.add(kHashes.id(*ReservationId::parse("00000000-0000-4000-8000-000000000001")));
    view.publish({{ReserveOutcome::sold_out, Sequence(7), 3, {}}, 2, std::chrono::nanoseconds(1000), &users, &ids});
    map.learn("item:1", &view);
  }
  std::string ask(std::initializer_list<std::string_view> words, RespVersion version = RespVersion::resp2) {
    std::string bytes;
    ReplyWriter reply(bytes, version);
    const auto outcome = map.answer(Words(words.begin(), words.size()), kNow, reply);
    CHECK(outcome.has_value() == !bytes.empty());
    return bytes;
  }
};

}  // namespace

TEST_CASE("view_map: an item is known with braces and without") {
  Known known;
  CHECK(known.ask({"RESERVE", "item:1", "7"}) == ":-1\r\n");
  CHECK(known.ask({"RESERVE", "{item:1}", "7"}) == ":-1\r\n");
  CHECK(known.ask({"RESERVE", "{item:1}x", "7"}).empty());
  CHECK(known.ask({"RESERVE", "{}", "7"}).empty());
}

TEST_CASE("view_map: DETAILS are shown in the version of the connection") {
  Known known;
  CHECK(known.ask({"RESERVE", "item:1", "7", "DETAILS"}) ==
        "*8\r\n$6\r\nresult\r\n:-1\r\n$6\r\nreason\r\n$8\r\nsold_out\r\n$8\r\nsequence\r\n:7\r\n$8\r\nreserved\r\n:"
        "3\r\n");
  CHECK(known.ask({"RESERVE", "item:1", "7", "DETAILS"}, RespVersion::resp3).starts_with("%4\r\n"));
}

TEST_CASE("view_map: tokens, what does not parse, and who may have something are for the owner") {
  Known known;
  CHECK(known.ask({"RESERVE", "item:1", "7", "TOKEN", "t"}).empty());
  CHECK(known.ask({"RESERVE", "item:1", "7", "QTY", "0"}).empty());
  CHECK(known.ask({"RESERVE", "item:1", "-"}).empty());
  CHECK(known.ask({"RESERVE", "item:1", "7", "QTY", "3"}).empty());
  CHECK(known.ask({"RESERVE", "item:1", "buyer"}).empty());
  CHECK(known.ask({"RESERVE", "item:1", "7", "ID", "00000000-0000-4000-8000-000000000001"}).empty());
  CHECK(known.ask({"RESERVE", "item:1", "7", "ID", "00000000-0000-4000-8000-000000000002"}) == ":-1\r\n");
}

TEST_CASE("view_map: a view that is forgotten is not read, and the newest of a name counts") {
  Known known;
  ItemView next;
  known.map.learn("item:1", &next);
  CHECK(known.ask({"RESERVE", "item:1", "7"}).empty());
  known.map.forget(&known.view);
  CHECK(known.map.size() == 1);
  known.map.learn("item:1", &known.view);
  CHECK(known.ask({"RESERVE", "item:1", "7"}) == ":-1\r\n");
  known.map.forget(&known.view);
  known.map.forget(nullptr);
  CHECK(known.map.size() == 0);
  CHECK(known.ask({"RESERVE", "item:1", "7"}).empty());
}

TEST_CASE("view_map: it keeps as many as it may, the last one among them") {
  ViewMap map(kHashes);
  std::deque<ItemView> views(kViewsKnownMax + 10);
  for (std::size_t i = 0; i < views.size(); ++i) map.learn(fmt::format("item:{}", i), &views[i]);
  CHECK(map.size() == kViewsKnownMax);
  views.back().publish(
      {{ReserveOutcome::closed, Sequence(1), 0, {}}, 0, std::chrono::nanoseconds(1000), nullptr, nullptr});
  const std::string last = fmt::format("item:{}", views.size() - 1);
  const std::string_view words[] = {"RESERVE", last, "7"};
  std::string bytes;
  ReplyWriter reply(bytes, RespVersion::resp2);
  CHECK(map.answer(words, kNow, reply) == ReserveOutcome::closed);
}

TEST_CASE("view_map: what is answered from a view is told to the owner of the item, once") {
  Known known;
  known.map.learn("item:1", &known.view, {ShardIndex(2), 5, ItemNumber(9)});
  CHECK(known.map.take_asked().empty());
  known.ask({"RESERVE", "item:1", "7"});
  known.ask({"RESERVE", "{item:1}", "8"});
  known.ask({"RESERVE", "item:1", "buyer"});  // who may have something is for the owner
  const std::vector<ViewAsked> asked = known.map.take_asked();
  REQUIRE(asked.size() == 1);
  CHECK(asked[0].times == 2);
  CHECK(asked[0].owner.shard == ShardIndex(2));
  CHECK(asked[0].owner.item_index == 5);
  CHECK(asked[0].owner.item == ItemNumber(9));
  CHECK(known.map.take_asked().empty());
}
