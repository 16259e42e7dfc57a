#include "server/client_waits.h"

#include "tests/doctest.h"

using namespace holdfast;

namespace {

constexpr ConnectionKey kOne{1, 0}, kTwo{2, 0};

ClientWait wait(ConnectionKey connection, ClientWait::Kind kind, bool local, bool replicas, int timeout) {
  return {kind, {connection, ReplySlot(3)}, RespVersion::resp2, local, replicas, Millis(timeout)};
}

std::vector<std::string> texts(const std::vector<ClientWaits::Answer>& answers) {
  std::vector<std::string> found;
  found.reserve(answers.size());
  for (const auto& answer : answers) found.push_back(answer.bytes);
  return found;
}

const auto kFirst = [](ConnectionKey) { return true; };
const auto kBehind = [](ConnectionKey) { return false; };
using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("client_waits: WAIT for replicas, which there are not, answers 0 when its time is over") {
  ClientWaits waits;
  waits.add(wait(kOne, ClientWait::Kind::replicas, false, true, 100), Millis(1000));
  CHECK(texts(waits.look(Millis(1000), {}, kFirst)).empty());
  CHECK(waits.next_due() == Millis(1100));
  CHECK(texts(waits.look(Millis(1099), {}, kFirst)).empty());
  CHECK(texts(waits.look(Millis(1100), {}, kFirst)) == Texts{":0\r\n"});
  CHECK(waits.empty());
}

TEST_CASE("client_waits: WAITAOF of this disk is answered at once when answers are durable") {
  ClientWaits waits;
  waits.add(wait(kOne, ClientWait::Kind::log, true, false, 100), Millis(1000));
  waits.add(wait(kTwo, ClientWait::Kind::log, true, true, 100), Millis(1000));
  CHECK(texts(waits.look(Millis(1000), {Lsn(9), Lsn(5), true}, kBehind)) == Texts{"*2\r\n:1\r\n:0\r\n"});
  CHECK(texts(waits.look(Millis(1100), {Lsn(9), Lsn(5), true}, kBehind)) == Texts{"*2\r\n:1\r\n:0\r\n"});
}

TEST_CASE("client_waits: with a log that is flushed later, WAITAOF waits for what was written when its turn had come") {
  ClientWaits waits;
  waits.add(wait(kOne, ClientWait::Kind::log, true, false, 10'000), Millis(1000));
  waits.add(wait(kTwo, ClientWait::Kind::save, true, false, 10'000), Millis(1000));
  CHECK(waits.look(Millis(1000), {Lsn(5), Lsn(5), false}, kBehind).empty());  // commands before it are not answered
  CHECK(waits.look(Millis(1010), {Lsn(9), Lsn(5), false}, kFirst).empty());   // it waits for 9 from here on
  CHECK(waits.look(Millis(1020), {Lsn(20), Lsn(8), false}, kFirst).empty());
  CHECK(waits.next_due() == Millis(1020) + kSweepEvery);
  CHECK(texts(waits.look(Millis(1030), {Lsn(20), Lsn(9), false}, kFirst)) == Texts{"*2\r\n:1\r\n:0\r\n", "+OK\r\n"});
}

TEST_CASE("client_waits: what is not flushed when the time is over is said") {
  ClientWaits waits;
  waits.add(wait(kOne, ClientWait::Kind::log, true, false, 100), Millis(1000));
  CHECK(texts(waits.look(Millis(1100), {Lsn(9), Lsn(5), false}, kFirst)) == Texts{"*2\r\n:0\r\n:0\r\n"});
}

TEST_CASE("client_waits: a wait ends early as things stand, with an error, or without a word") {
  ClientWaits waits;
  for (const auto key : {kOne, kTwo}) waits.add(wait(key, ClientWait::Kind::replicas, false, true, 0), Millis(1000));
  CHECK(waits.contains(kOne));
  CHECK(texts(waits.end(kOne, {}, false)) == Texts{":0\r\n"});
  CHECK(waits.end(kOne, {}, false).empty());
  CHECK(texts(waits.end(kTwo, {}, true)) == Texts{"-UNBLOCKED client unblocked via CLIENT UNBLOCK\r\n"});
  waits.add(wait(kOne, ClientWait::Kind::save, true, false, 1000), Millis(1000));
  waits.add(wait(kTwo, ClientWait::Kind::replicas, false, true, 1000), Millis(1000));
  waits.forget(kTwo);
  CHECK(texts(waits.end_all({Lsn(9), Lsn(5), false})) ==
        Texts{"-ERR the log is not flushed yet; SAVE was ended before it was\r\n"});
  CHECK(waits.empty());
}
