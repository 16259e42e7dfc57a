#include "replication/batch_decoder.h"

#include "tests/unit/replication/log_maker.h"

#include "tests/doctest.h"

using namespace holdfast;
using namespace holdfast::test;

namespace {

BatchDecoder decoder_at(const LogMaker& log, Lsn lsn = Lsn(), SinkItems items = {}) {
  return {Cursor{log.log, lsn, Epoch(1)}, std::move(items)};
}

/// All that is left, at most `at_once` events a piece.
std::vector<Event> drain(BatchDecoder& decoder, std::size_t at_once = 1000) {
  std::vector<Event> events;
  while (!decoder.done()) {
    const auto piece = decoder.next(at_once);
    REQUIRE(piece.has_value());
    CHECK(piece->events.size() <= at_once);
    CHECK(piece->through == decoder.cursor());
    events.insert(events.end(), piece->events.begin(), piece->events.end());
  }
  return events;
}

std::string refusal(BatchDecoder& decoder, std::string batches, ErrorCode code = ErrorCode::damaged) {
  decoder.feed(std::move(batches));
  const auto piece = decoder.next(1000);
  REQUIRE(!piece);
  CHECK(piece.error().code() == code);
  return std::string(piece.error().text());
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("batch_decoder: a reservation's life, with names, times and counters") {
  LogMaker log;
  ItemDefinition definition;
  definition.price = 995;
  definition.currency = "EUR";
  auto& item = log.create("item:1", 3, definition);
  log.wall += Millis(40);
  log.hold += Millis(41);  // the clocks are not in step
  log.reserve(item, 7, "alice", 2);
  log.wall += Millis(5);
  log.follow(item, 7, ReservationEvent::confirm);
  log.follow(item, 7, ReservationEvent::refund, true);
  auto decoder = decoder_at(log);
  decoder.feed(log.batch());
  const auto events = drain(decoder);

  REQUIRE(events.size() == 5);
  CHECK(events[0].name() == "LOAD");
  CHECK(events[0].lsn == Lsn(2));  // LSN 1 is the CLOCK record
  CHECK(events[0].item->name == "item:1");
  CHECK(events[0].item->state == ItemState::draft);
  CHECK(events[0].after == Counters{3, 0, 0, 0});
  CHECK(events[1].item->state == ItemState::open);
  const Event& reserve = events[2];
  CHECK(reserve.is(ReservationEvent::reserve));
  CHECK(reserve.sequence == Sequence(3));
  CHECK(reserve.at == log.wall - Millis(5));
  CHECK(reserve.item->definition.price == 995);
  CHECK(reserve.after == Counters{1, 2, 0, 0});
  const ReservationChange& change = *reserve.reservation();
  CHECK(change.id == id_of(7));
  CHECK(change.user == "alice");
  CHECK(change.quantity == Quantity(2));
  CHECK(change.exclusive);
  CHECK(change.expires_at == reserve.at + std::chrono::minutes(10));
  CHECK(events[3].name() == "CONFIRM");
  CHECK(!events[3].reservation()->expires_at);
  CHECK(events[4].reservation()->write_off);
  CHECK(total(events[4].after) == 1);
  CHECK(decoder.cursor().next() == log.next_lsn());
}

TEST_CASE("batch_decoder: pieces of any size give the same events, and LSNs without an event pass") {
  LogMaker log;
  auto& item = log.create("i", 100);
  std::string batches = log.batch();
  for (std::uint64_t id = 1; id <= 20; ++id) {
    log.reserve(item, id, std::to_string(id));
    if (id % 3 == 0) log.forget(item);
    if (id % 7 == 0) batches += log.batch();
  }
  batches += log.batch();
  log.forget(item);
  batches += log.batch();
  for (const std::size_t at_once : {1U, 2U, 3U, 5U, 100U}) {
    auto decoder = decoder_at(log);
    decoder.feed(batches);
    const auto events = drain(decoder, at_once);
    REQUIRE(events.size() == 22);
    for (std::size_t i = 0; i < events.size(); ++i) CHECK(events[i].sequence == Sequence(i + 1));
    CHECK(decoder.cursor().next() == log.next_lsn());
  }
}

TEST_CASE("batch_decoder: goes on at any LSN, from the batch that holds it, with the items that it knew") {
  LogMaker log;
  auto& item = log.create("i", 100);
  for (std::uint64_t id = 1; id <= 5; ++id) log.reserve(item, id, std::to_string(id));
  const std::string batches = log.batch();
  auto whole = decoder_at(log);
  whole.feed(batches);
  const auto events = drain(whole);
  for (std::size_t i = 0; i + 1 < events.size(); ++i) {
    const Event& last = events[i];
    auto decoder = decoder_at(log, last.lsn, whole.items());
    decoder.feed(batches);
    const auto rest = drain(decoder);
    CHECK(rest.size() == 7 - last.sequence.value());
    CHECK(rest.front().sequence == last.sequence.next());
  }
}

TEST_CASE("batch_decoder: an item that nothing has named stops it") {
  LogMaker log;
  auto& item = log.create("i", 100);
  const std::string first = log.batch();
  log.reserve(item, 1, "1");
  const std::string second = log.batch();
  auto decoder = decoder_at(log, Lsn(3));
  CHECK(has(refusal(decoder, second), "LSN 5 is of item number 1"));
}

TEST_CASE("batch_decoder: a gap, a batch of before, and a batch that does not continue the chain stop it") {
  LogMaker log;
  auto& item = log.create("i", 100);
  std::string batches[3] = {log.batch()};
  for (std::uint64_t id = 1; id <= 2; ++id) {
    log.reserve(item, id, std::to_string(id));
    batches[id] = log.batch();
  }
  auto gap = decoder_at(log);
  CHECK(has(refusal(gap, batches[1]), "LSN 1 should come next, and 4 to 5 came"));
  auto middle = decoder_at(log);
  CHECK(has(refusal(middle, batches[0] + batches[2]), "LSN 4 should come next, and 6 to 7 came"));
  auto again = decoder_at(log);
  CHECK(has(refusal(again, batches[0] + batches[0]), "LSN 4 should come next, and 1 to 3 came"));
  auto before = decoder_at(log, Lsn(3));
  CHECK(has(refusal(before, batches[0]), "LSN 4 should come next"));

  LogMaker other;
  auto& same = other.create("i", 99);
  auto chain = decoder_at(log);
  other.batch();
  other.reserve(same, 1, "1");
  CHECK(has(refusal(chain, batches[0] + other.batch()), "does not continue the one before"));
}

TEST_CASE("batch_decoder: another log's batch, and a format of later, stop it") {
  LogMaker log;
  log.create("i", 100);
  const std::string batch = log.batch();
  LogMaker other;
  other.log[0] = 0xff;
  auto foreign = decoder_at(other);
  CHECK(has(refusal(foreign, batch, ErrorCode::foreign), "the batch at LSN 1 is of another log"));
}

TEST_CASE("batch_decoder: no byte of a batch can change without being noticed") {
  LogMaker log;
  log.create("i", 100);
  const std::string batch = log.batch();
  for (std::size_t at = 0; at < batch.size(); ++at) {
    std::string damaged = batch;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    auto decoder = decoder_at(log);
    decoder.feed(damaged);
    CHECK_MESSAGE(!decoder.next(1000), at);
  }
  for (std::size_t size = 1; size < batch.size(); size += 64) {
    auto decoder = decoder_at(log);
    decoder.feed(batch.substr(0, size));
    CHECK_MESSAGE(!decoder.next(1000), size);
  }
}
