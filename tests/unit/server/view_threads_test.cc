// Views between real threads: one owner changes an item as fast as it can, two readers refuse from its view. For
// ThreadSanitizer, and for processors whose memory is weaker than the tests of interleavings think.
#include "server/inventory.h"
#include "server/view_map.h"

#include "tests/doctest.h"

#include <atomic>
#include <deque>
#include <thread>

using namespace holdfast;

namespace {

#ifdef NDEBUG
constexpr std::uint64_t kCycles = 20'000;
#else
constexpr std::uint64_t kCycles = 3'000;
#endif
constexpr Now kNow{hold_time(1'000'000), wall_time(1'800'000'000'000), {}};

class NoSink final : public RecordSink {
 public:
  RecordPosition on_item(const RecordStamp&, const ItemRecord&) override { return 0; }
  RecordPosition on_reservation(const RecordStamp&, const ReservationRecord&) override { return 0; }
  RecordPosition on_forget(const RecordStamp&, const ForgetRecord&) override { return 0; }
  RecordPosition on_default_returns(const RecordStamp&, const DefaultReturnsRecord&) override { return 0; }
};

/// What the owner has done, as any outsider may know it: a reader that has seen a number knows what came before.
struct Shared {
  std::atomic<std::uint64_t> taken{0};  // users 1.. to this have reserved for good, each told so
  std::atomic<std::uint64_t> sequence{0};
  std::atomic<RetireTicket::rep> retired{0};  // tickets to this are to be forgotten
  std::atomic<bool> done{false};
};

struct Reader {
  std::uint64_t answers = 0;
  std::uint64_t wrong = 0;
  std::atomic<std::uint64_t> looks{0};
  std::atomic<RetireTicket::rep> forgotten{0};

  void run(const ViewHashes& hashes, const ItemView* view, ItemName item, const Shared& shared) {
    ViewMap map(hashes);
    map.learn("a", view);
    for (std::uint64_t n = 0; !shared.done.load(std::memory_order_relaxed); ++n) {
      forgotten.store(shared.retired.load(std::memory_order_acquire), std::memory_order_release);
      looks.store(n, std::memory_order_relaxed);
      const std::uint64_t sequence = shared.sequence.load(std::memory_order_acquire);
      const std::uint64_t taken = shared.taken.load(std::memory_order_acquire);
      // In turn somebody who has a unit and somebody who never has.
      const bool stranger = n % 2 == 0;
      const ReserveRequest request{item, UserId::from_number(stranger ? 1'000'000'000 + n : taken)};
      const auto refusal = map.look(request, ViewTime::of(kNow));
      if (!refusal) continue;
      ++answers;
      if (refusal->outcome != ReserveOutcome::sold_out || refusal->sequence.value() < sequence) ++wrong;
      if (!stranger && taken != 0) ++wrong;
    }
  }
};

}  // namespace

TEST_CASE("view_threads: no refusal is older than what its reader knew, and none is of somebody who has a unit") {
  NoSink sink;
  Inventory inventory({}, sink);
  GroupOrdinal group(1);
  inventory.open_group(group);
  const auto commit = [&] {
    inventory.seal();
    inventory.on_group_durable(group, Lsn(group.value()));
    group = group.next();
    inventory.open_group(group);
    inventory.views().publish(kNow);
  };
  const ItemName name = *ItemName::parse("a");
  LoadRequest load{name, {}, {}, true};
  load.definition.stock = 0;
  REQUIRE(inventory.load(load, kNow).has_value());
  Item& item = *inventory.find(name, kNow);
  REQUIRE(inventory.reserve(item, {name, UserId::from_number(1)}, kNow)->outcome == ReserveOutcome::sold_out);
  while (inventory.views().work(kNow)) continue;
  commit();
  inventory.views().tell(&item, 0);
  inventory.views().tell(&item, 1);
  const ItemView* view = inventory.views().take_news(0).front().view;

  Shared shared;
  Reader readers[2];
  std::deque<RetireTicket> waiting;
  std::uint64_t reclaimed = 0;
  std::thread threads[2];
  for (std::size_t i = 0; i < 2; ++i) {
    threads[i] = std::thread([&, i] { readers[i].run(inventory.views().hashes(), view, name, shared); });
  }
  for (std::uint64_t user = 1; user <= kCycles; ++user) {
    AdjustRequest adjust{name, 1, {}, "more"};
    std::array<std::uint8_t, ReservationId::kBytes> id{};
    std::memcpy(id.data(), &user, sizeof(user));
    adjust.id = ReservationId(id);
    REQUIRE(inventory.adjust(item, adjust, kNow).has_value());
    REQUIRE(inventory.reserve(item, {name, UserId::from_number(user)}, kNow)->outcome == ReserveOutcome::taken);
    commit();
    shared.taken.store(user, std::memory_order_release);
    shared.sequence.store(item.sequence.value(), std::memory_order_release);
    // Filters that were outgrown go when both readers have looked up since.
    inventory.views().work(kNow);
    for (const RetiredView& one : inventory.views().take_retired()) {
      waiting.push_back(one.ticket);
      shared.retired.store(one.ticket.value(), std::memory_order_release);
    }
    const auto forgotten = std::min(readers[0].forgotten.load(std::memory_order_acquire),
                                    readers[1].forgotten.load(std::memory_order_acquire));
    for (; !waiting.empty() && waiting.front().value() <= forgotten; waiting.pop_front()) {
      inventory.views().reclaim(waiting.front());
      ++reclaimed;
    }
    if (user % 32 != 0) continue;
    for (const Reader& reader : readers) {
      const std::uint64_t looks = reader.looks.load(std::memory_order_relaxed);
      while (reader.looks.load(std::memory_order_relaxed) < looks + 2) std::this_thread::yield();
    }
  }
  shared.done.store(true);
  for (auto& thread : threads) thread.join();
  MESSAGE(kCycles << " changes, " << readers[0].answers + readers[1].answers << " answers, " << reclaimed
                  << " filters freed");
  CHECK(readers[0].answers + readers[1].answers > 0);
  CHECK(reclaimed > 0);
  CHECK(readers[0].wrong + readers[1].wrong == 0);
}
