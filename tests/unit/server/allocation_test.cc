// Counts what the heap is asked for: nothing per command beyond growth, and nothing that stays when reservations come
// and go. HOLDFAST_CYCLES=n cycles in the test of one user; tests/long.sh cycles runs ten million.
#include "server/router.h"
#include "server/step.h"
#include "server/view_map.h"

#include <fmt/format.h>

#include "tests/doctest.h"
#include "tests/random_runs.h"

#include <malloc.h>

#include <cstdlib>
#include <new>

namespace {

std::size_t allocations = 0;
std::size_t bytes_live = 0;

}  // namespace

void* operator new(std::size_t size) {
  void* memory = std::malloc(size);  // NOLINT(cppcoreguidelines-no-malloc)
  if (memory == nullptr) throw std::bad_alloc();
  ++allocations;
  bytes_live += malloc_usable_size(memory);
  return memory;
}

void operator delete(void* memory) noexcept {
  bytes_live -= memory == nullptr ? 0 : malloc_usable_size(memory);
  std::free(memory);  // NOLINT(cppcoreguidelines-no-malloc)
}

void operator delete(void* memory, std::size_t) noexcept { operator delete(memory); }
void* operator new[](std::size_t size) { return operator new(size); }
void operator delete[](void* memory) noexcept { operator delete(memory); }
void operator delete[](void* memory, std::size_t) noexcept { operator delete(memory); }

using namespace holdfast;

namespace {

#ifdef NDEBUG
constexpr std::uint64_t kCommands = 1'000'000;
constexpr std::uint64_t kCycles = 400'000;
#else
constexpr std::uint64_t kCommands = 30'000;
constexpr std::uint64_t kCycles = 20'000;
#endif

class NoSink final : public RecordSink {
 public:
  RecordPosition on_item(const RecordStamp&, const ItemRecord&) override { return position_++; }
  RecordPosition on_reservation(const RecordStamp&, const ReservationRecord&) override { return position_++; }
  RecordPosition on_forget(const RecordStamp&, const ForgetRecord&) override { return position_++; }
  RecordPosition on_default_returns(const RecordStamp&, const DefaultReturnsRecord&) override { return position_++; }

 private:
  RecordPosition position_ = 0;
};

/// Runs commands as a thread of the server does: words in place, one buffer for replies, groups that become durable.
class Driver {
 public:
  explicit Driver(const Inventory::Settings& settings = {}) : inventory_(settings, sink_) { reply_.reserve(4096); }

  std::string_view run(std::initializer_list<std::string_view> words) {
    const Words request(words.begin(), words.size());
    const auto command = find_command(request);
    REQUIRE(command.has_value());
    reply_.clear();
    ReplyWriter writer(reply_, RespVersion::resp2);
    step(inventory_, **command, request, now_, writer);
    if (++commands_ % 64 == 0) next_group();
    return reply_;
  }
  /// The same by a thread that answers from the views it knows.
  std::string_view run_from_view(std::initializer_list<std::string_view> words) {
    reply_.clear();
    ReplyWriter writer(reply_, RespVersion::resp2);
    static_cast<void>(views_.answer(Words(words.begin(), words.size()), ViewTime::of(now_), writer));
    return reply_;
  }
  /// What refuses is published and known, if it was refused before.
  void make_views_known(std::initializer_list<std::string_view> items) {
    while (inventory_.views().work(now_)) continue;
    next_group();
    for (const std::string_view item : items) {
      inventory_.views().tell(inventory_.find(*ItemName::parse(item), now_), 0);
    }
    for (const ViewNews& news : inventory_.views().take_news(0)) views_.learn(news.item, news.view);
  }
  void pass(Millis time) { now_.hold += time, now_.wall += time; }
  void sweep() { inventory_.sweep(now_); }
  const Inventory& inventory() const { return inventory_; }

 private:
  void next_group() {
    inventory_.seal();
    if (group_ != GroupOrdinal()) inventory_.on_group_durable(group_, Lsn(commands_));
    group_ = group_.next();
    inventory_.open_group(group_);
    inventory_.views().publish(now_);
  }

  NoSink sink_;
  Inventory inventory_;
  ViewMap views_{inventory_.views().hashes()};
  Now now_{hold_time(1'000'000), wall_time(1'800'000'000'000), {}};
  std::string reply_;
  std::uint64_t commands_ = 0;
  GroupOrdinal group_;
};

/// A number as a word, without the heap.
class NumberWord {
 public:
  explicit NumberWord(std::uint64_t number) : text_(number) {}
  std::string_view view() const { return {text_.data(), text_.size()}; }

 private:
  fmt::format_int text_;
};

constexpr std::string_view kId = "0192f0c1-2345-7abc-8def-0123456789ab";
constexpr std::string_view kEndedId = "0192f0c1-2345-7abc-8def-0123456789ac";
constexpr std::string_view kOtherId = "0192f0c1-2345-7abc-8def-0123456789ad";
constexpr std::string_view kLongUser = "somebody whose name does not fit into eight bytes";

}  // namespace

TEST_CASE("allocation: refusals, replays and errors take nothing from the heap") {
  Driver driver;
  driver.run({"ITEM", "CREATE", "a", "STOCK", "3"});
  driver.run({"ITEM", "CREATE", "closed", "STOCK", "3"});
  driver.run({"ITEM", "CLOSE", "closed"});
  driver.run({"RESERVE", "a", "1", "ID", kEndedId});
  driver.run({"RELEASE", "a", "1"});
  driver.run({"RESERVE", "a", "1", "ID", kId});
  driver.run({"RESERVE", "a", kLongUser});
  driver.run({"RESERVE", "a", kId});
  driver.run({"CONFIRM", "a", kLongUser});
  std::uint64_t done = 0;
  std::uint64_t asked = 0;
  std::uint64_t from_view = 0;
  const auto once = [&](std::uint64_t number) {
    const NumberWord user(10 + number);
    const auto refused = [&](std::initializer_list<std::string_view> words, char first) {
      if (driver.run(words).front() != first) FAIL("another reply than was meant");
      ++done;
    };
    refused({"RESERVE", "a", user.view()}, ':');
    refused({"RESERVE", "a", user.view(), "DETAILS"}, '*');
    refused({"RESERVE", "a", kLongUser}, ':');
    refused({"RESERVE", "a", kLongUser, "DETAILS", "QTY", "2"}, '*');
    refused({"RESERVE", "a", "1", "ID", kId}, ':');
    refused({"RESERVE", "a", "1", "ID", kEndedId, "DETAILS"}, '*');
    refused({"RESERVE", "a", user.view(), "ID", kId}, '-');
    refused({"RESERVE", "closed", user.view()}, ':');
    refused({"RESERVE", "none", user.view()}, '-');
    refused({"RESERVE", "a", user.view(), "QTY", "0"}, '-');
    refused({"CONFIRM", "a", user.view()}, ':');
    refused({"RELEASE", "a", kLongUser}, ':');
    refused({"GET", "{a}:stock"}, '$');
    refused({"SISMEMBER", "{a}:buyers", user.view()}, ':');
    if (number == 0) return;
    from_view += driver.run_from_view({"RESERVE", "a", user.view(), "DETAILS"}).empty() ? 0U : 1U;
    from_view += driver.run_from_view({"RESERVE", "{closed}", user.view(), "ID", kOtherId}).empty() ? 0U : 1U;
    asked += 2;
  };
  once(0);
  driver.make_views_known({"a", "closed"});
  once(1);
  const std::size_t before = allocations;
  for (std::uint64_t number = 2; done < kCommands; ++number) once(number);
  CHECK(allocations == before);
  CHECK(from_view > asked - asked / 10);
}

TEST_CASE("allocation: reservations that come and go take nothing once tables have their size") {
  Inventory::Settings settings;
  settings.ended_max = 1000;
  Driver driver(settings);
  driver.run({"ITEM", "CREATE", "a", "STOCK", "100", "LIMIT", "0"});
  driver.run({"ITEM", "CREATE", "{s}b", "STOCK", "100", "LIMIT", "0", "SCOPE", "sale"});
  const auto cycle = [&](std::uint64_t number) {
    const NumberWord user(number % 50);
    for (const std::string_view item : {"a", "{s}b"}) {
      driver.run({"RESERVE", item, user.view(), "QTY", number % 3 == 0 ? "70000" : "1"});
      driver.run({"RESERVE", item, user.view()});
      driver.run({"RESERVE", item, kLongUser, "TTL", "5"});
      driver.run({"CONFIRM", item, kLongUser});
      driver.run({"RESERVE", item, kId, "ID", kId});
    }
    driver.pass(Millis(10));
    driver.sweep();
    if (number % 60 == 59) driver.pass(std::chrono::minutes(11));
  };
  // Each round leaves one CONFIRMED of the long name, so the stock is sold out in the end: the warm-up goes that far.
  for (std::uint64_t number = 0; number < 4'000; ++number) cycle(number);
  const std::size_t before = allocations;
  const std::size_t bytes_before = bytes_live;
  for (std::uint64_t number = 4'000; number < 4'000 + kCommands / 11; ++number) cycle(number);
  CHECK(allocations == before);
  CHECK(bytes_live == bytes_before);
}

TEST_CASE("allocation: fresh reservations take memory by chunks, segments and pages only") {
  Driver driver;
  driver.run({"ITEM", "CREATE", "a", "STOCK", "9007199254740991"});
  driver.run({"RESERVE", "a", "1"});
  const std::size_t before = allocations;
  const std::size_t bytes_before = bytes_live;
  for (std::uint64_t number = 2; number < 2 + kCommands; ++number) {
    const NumberWord user(1'000'000'000'000'000 + number);
    driver.run({"RESERVE", "a", user.view()});
  }
  const std::size_t grown = allocations - before;
  const std::uint64_t chunks = 2 * kCommands / RowChunks::kChunkRows;  // the rows, and what else a chunk has
  const std::uint64_t segments = 2 * kCommands / (32 * 64);
  const std::uint64_t pages = 2 * kCommands * CellIndex::kCellBytes * 2 / CellPool::kPageBytes;
  MESSAGE(grown << " allocations, " << (bytes_live - bytes_before) / kCommands << " bytes a reservation");
  CHECK(grown <= chunks + segments + pages + 150);
}

TEST_CASE("allocation: the owner of a command is found without the heap") {
  const Router router(64);
  const auto route = [&router](std::initializer_list<std::string_view> words) {
    const Words request(words.begin(), words.size());
    const CommandEntry& entry = *find_command(request).value();
    return router.route(entry, request).shard.value();
  };
  const std::size_t before = allocations;
  std::size_t owners = 0;
  for (std::uint64_t i = 0; i < kCommands; ++i) {
    owners += route({"RESERVE", "{sale:77}item:1", NumberWord(i).view(), "ID", kId});
    owners += route({"SISMEMBER", "{item:1001}:buyers", "u"});
    owners += route({"GET", "foreign"});
    owners += route({"MGET", "a:stock", "b:stock"});
    owners += route({"SCAN", NumberWord(i).view()});
  }
  CHECK(allocations == before);
  CHECK(owners > 0);
}

TEST_CASE("allocation: cycles of reserve and release by one user do not make memory grow") {
  const std::uint64_t cycles = test::number_from_environment("HOLDFAST_CYCLES", kCycles);
  Inventory::Settings settings;
#ifndef NDEBUG
  settings.ended_max = 5'000;
#endif
  Driver driver(settings);
  driver.run({"ITEM", "CREATE", "a", "STOCK", "1"});
  std::size_t bytes_at_half = 0;
  const auto bytes_of = [](const InventoryMemory& memory) {
    return memory.rows + memory.indexes + memory.names + memory.others;
  };
  std::size_t counted_at_half = 0;
  for (std::uint64_t cycle = 0; cycle < cycles; ++cycle) {
    if (driver.run({"RESERVE", "a", "42"}) != ":0\r\n" || driver.run({"RELEASE", "a", "42"}) != ":1\r\n") {
      FAIL("cycle " << cycle);
    }
    driver.pass(Millis(1));
    if (cycle % 1000 == 0) driver.sweep();
    if (cycle == cycles / 2) {
      bytes_at_half = bytes_live;
      counted_at_half = bytes_of(driver.inventory().memory());
    }
  }
  MESSAGE(cycles << " cycles, " << bytes_live << " bytes");
  // Buckets of the index still find their sizes: a page of the pool more, whatever the number of cycles.
  constexpr std::size_t kSlack = 4 * std::size_t{CellPool::kPageBytes};
  CHECK(bytes_live <= bytes_at_half + kSlack);
  CHECK(bytes_of(driver.inventory().memory()) <= counted_at_half + kSlack);
  CHECK(bytes_live < 8'000'000);
}
