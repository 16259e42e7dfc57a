#include "replication/order_change.h"

#include "tests/unit/replication/event_tape.h"

#include "tests/doctest.h"

using namespace holdfast;
using namespace holdfast::test;

namespace {

using Verb = ReservationEvent;

/// What the events of one reservation come to, the first `skipped` of them having been seen before.
OrderChange change_of(const std::vector<Verb>& verbs, std::size_t skipped = 0) {
  LogMaker log;
  auto& item = log.create("i", 10);
  EventTape tape(log);
  tape.next();
  log.reserve(item, 1, "alice", 2);
  for (const Verb verb : verbs) log.follow(item, 1, verb);
  const auto events = tape.next();
  REQUIRE(events.size() == verbs.size() + 1);
  OrderChange change = begin_change(events[skipped]);
  for (std::size_t i = skipped + 1; i < events.size(); ++i) REQUIRE(follow_change(change, events[i]).has_value());
  return change;
}

}  // namespace

TEST_CASE("order_change: a new row, whatever became of it") {
  const OrderChange pending = change_of({});
  CHECK(!pending.from);
  CHECK(pending.to == OrderStatus::pending);
  CHECK(pending.user == "alice");
  CHECK(pending.exclusive == true);
  CHECK(pending.sold_delta() == 2);
  CHECK(pending.expires_at == pending.reserved_at + std::chrono::minutes(10));
  const OrderChange paid = change_of({Verb::extend, Verb::confirm});
  CHECK(paid.to == OrderStatus::paid);
  CHECK(paid.sold_delta() == 2);
  CHECK(paid.expires_at == paid.reserved_at + std::chrono::minutes(20));
  CHECK(paid.first == Sequence(3));
  CHECK(paid.last == Sequence(5));
  for (const auto& [verbs, status] :
       std::vector<std::pair<std::vector<Verb>, OrderStatus>>{{{Verb::release}, OrderStatus::cancelled},
                                                              {{Verb::expire}, OrderStatus::expired},
                                                              {{Verb::confirm, Verb::refund}, OrderStatus::refunded}}) {
    const OrderChange ended = change_of(verbs);
    CHECK(ended.to == status);
    CHECK(ended.sold_delta() == 0);
    CHECK(!ended.resumes());
  }
}

TEST_CASE("order_change: a row that is there, from what it must be to what it becomes") {
  const OrderChange confirm = change_of({Verb::confirm}, 1);
  CHECK(confirm.from == OrderStatus::pending);
  CHECK(confirm.to == OrderStatus::paid);
  CHECK(confirm.sold_delta() == 0);
  CHECK(!confirm.sets_expiry);
  CHECK(!confirm.exclusive);
  CHECK(!confirm.resumes());
  const OrderChange expire = change_of({Verb::extend, Verb::expire}, 1);
  CHECK(expire.from == OrderStatus::pending);
  CHECK(expire.sold_delta() == -2);
  CHECK(expire.sets_expiry);
  const OrderChange resume = change_of({Verb::expire, Verb::resume}, 2);
  CHECK(resume.from == OrderStatus::expired);
  CHECK(resume.to == OrderStatus::paid);
  CHECK(resume.resumes());
  CHECK(resume.exclusive == true);
  const OrderChange again = change_of({Verb::expire, Verb::resume}, 1);
  CHECK(again.from == OrderStatus::pending);
  CHECK(again.resumes());
  CHECK(resume.sold_delta() == 2);
  const OrderChange back = change_of({Verb::expire, Verb::resume, Verb::refund}, 2);
  CHECK(back.from == OrderStatus::expired);
  CHECK(back.to == OrderStatus::refunded);
  CHECK(!back.resumes());
  CHECK(back.sold_delta() == 0);
}

TEST_CASE("order_change: what cannot follow in any log is an error") {
  LogMaker log;
  auto& item = log.create("i", 10);
  log.reserve(item, 1, "alice");
  log.follow(item, 1, Verb::confirm);
  EventTape tape(log);
  const auto events = tape.next();
  OrderChange change = begin_change(events[2]);
  REQUIRE(follow_change(change, events[3]).has_value());
  const auto twice = follow_change(change, events[3]);
  REQUIRE(!twice);
  CHECK(twice.error().code() == ErrorCode::damaged);
  CHECK(twice.error().text() == "LSN 5: CONFIRM of a reservation that is PAID in what came before it");
  CHECK(!follow_change(change, events[2]));
}

TEST_CASE("order_change: statuses as text") {
  for (const char* name : {"PENDING", "PAID", "EXPIRED", "CANCELLED", "REFUNDED"}) {
    CHECK(status_name(*parse_status(name)) == name);
  }
  CHECK(!parse_status("pending"));
}
