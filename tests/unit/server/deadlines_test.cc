#include "server/deadlines.h"

#include "server/options.h"
#include "tests/doctest.h"

using namespace holdfast;

namespace {

constexpr Millis kNever = Millis::max();

ConnectionTurn quiet() {
  ConnectionTurn turn;
  turn.authenticated = true;
  return turn;
}

}  // namespace

TEST_CASE("deadlines: who owes nothing has none") {
  const Options options;
  Deadlines deadlines;
  deadlines.note(quiet(), Millis(1000));
  CHECK(deadlines.due(options) == kNever);
}

TEST_CASE("deadlines: AUTH has 5 s from the connection on, and again from RESET on") {
  const Options options;
  Deadlines deadlines;
  deadlines.note({}, Millis(1000));
  deadlines.note({}, Millis(4000));
  CHECK(deadlines.due(options) == Millis(6000));
  deadlines.note(quiet(), Millis(5000));
  CHECK(deadlines.due(options) == kNever);
  deadlines.note({}, Millis(7000));
  CHECK(deadlines.due(options) == Millis(12'000));
}

TEST_CASE("deadlines: a command has 10 s from its first byte, whatever trickles in; the next one its own") {
  const Options options;
  Deadlines deadlines;
  ConnectionTurn turn = quiet();
  turn.heard = turn.in_command = true;
  for (int second = 1; second < 9; ++second) deadlines.note(turn, Millis(second * 1000));
  CHECK(deadlines.due(options) == Millis(11'000));
  turn.ended_command = true;
  deadlines.note(turn, Millis(9000));
  CHECK(deadlines.due(options) == Millis(19'000));
  deadlines.note(quiet(), Millis(10'000));
  CHECK(deadlines.due(options) == kNever);
}

TEST_CASE("deadlines: replies that are not taken count only while as much waits as may, from the last byte taken on") {
  const Options options;
  Deadlines deadlines;
  ConnectionTurn turn = quiet();
  turn.output_waits = true;
  deadlines.note(turn, Millis(1000));
  CHECK(deadlines.due(options) == kNever);
  turn.output_full = true;
  deadlines.note(turn, Millis(2000));
  CHECK(deadlines.due(options) == Millis(11'000));
  turn.output_moved = true;
  deadlines.note(turn, Millis(8000));
  CHECK(deadlines.due(options) == Millis(18'000));
  turn.output_waits = false;
  deadlines.note(turn, Millis(9000));
  CHECK(deadlines.due(options) == kNever);
}

TEST_CASE("deadlines: silence counts when timeout says so, and not while a command is executed") {
  Options options;
  options.timeout = 300;
  Deadlines deadlines;
  deadlines.note(quiet(), Millis(1000));
  CHECK(deadlines.due(options) == Millis(301'000));
  ConnectionTurn heard = quiet();
  heard.heard = true;
  heard.answering = true;
  deadlines.note(heard, Millis(2000));
  CHECK(deadlines.due(options) == kNever);
  deadlines.note(quiet(), Millis(3000));
  CHECK(deadlines.due(options) == Millis(302'000));
}

TEST_CASE("deadlines: who only listens may be silent, but has to take what is sent") {
  Options options;
  options.timeout = 300;
  Deadlines deadlines;
  ConnectionTurn turn = quiet();
  turn.listens = true;
  deadlines.note(turn, Millis(1000));
  CHECK(deadlines.due(options) == kNever);
  turn.output_waits = turn.output_full = true;
  deadlines.note(turn, Millis(2000));
  CHECK(deadlines.due(options) == Millis(12'000));
  deadlines.note(quiet(), Millis(3000));
  CHECK(deadlines.due(options) == Millis(301'000));
}
