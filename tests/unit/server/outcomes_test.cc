#include "server/outcomes.h"

#include "tests/doctest.h"

#include <string>

using namespace holdfast;

TEST_CASE("outcomes: RESERVE's integers and reasons, in the documented order") {
  const std::pair<ReserveOutcome, std::pair<int, std::string>> expected[] = {
      {ReserveOutcome::ended, {-8, "ended"}},
      {ReserveOutcome::known, {0, "ok"}},
      {ReserveOutcome::bad_token, {-7, "bad_token"}},
      {ReserveOutcome::not_eligible, {-6, "not_eligible"}},
      {ReserveOutcome::limit_reached, {-2, "limit_reached"}},
      {ReserveOutcome::closed, {-4, "closed"}},
      {ReserveOutcome::paused, {-5, "paused"}},
      {ReserveOutcome::not_open, {-3, "not_open"}},
      {ReserveOutcome::sold_out, {-1, "sold_out"}},
      {ReserveOutcome::taken, {0, "ok"}}};
  int place = 0;
  for (const auto& [outcome, reply] : expected) {
    CHECK(static_cast<int>(outcome) == place++);
    CHECK(reply_number(outcome) == reply.first);
    CHECK(reason_word(outcome) == reply.second);
  }
}

TEST_CASE("outcomes: the verbs' integers") {
  CHECK(reply_number(VerbOutcome::done) == 0);
  CHECK(reply_number(VerbOutcome::none_live) == -1);
  CHECK(reply_number(VerbOutcome::other_verb) == -2);
  CHECK(reply_number(VerbOutcome::released) == -3);
  CHECK(reply_number(VerbOutcome::expired) == -4);
  CHECK(reply_number(VerbOutcome::refunded) == -5);
}
