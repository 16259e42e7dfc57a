// The power goes during every call of a life in which transactions are written: of each, all is found or nothing.
#include "server/inventory_snapshot.h"
#include "storage/log.h"
#include "tests/simulation/simulated_disk.h"
#include "tests/unit/server/shard_fixture.h"

#include "tests/doctest.h"

using namespace holdfast;
using namespace holdfast::testing;
using simulation::SeededRandom;
using simulation::SimulatedCrash;
using simulation::SimulatedDisk;
using simulation::VirtualClock;

namespace {

constexpr int kTransactions = 4;
constexpr int kReserves = 100;

/// What a life has told its clients.
struct Told {
  bool created = false;
  int transactions = 0;
};

/// One process: a log on the disk and a shard that was replayed from it.
class Life {
 public:
  Life(SimulatedDisk& disk, VirtualClock& clock, std::uint64_t seed) : disk_(disk), clock_(clock), random_(seed) {}

  Result<void> open() {
    LogSettings settings;
    settings.directory = "/data/log";
    settings.segment_bytes = kSegmentBytesMin;
    auto recovery = LogRecovery::open(disk_, clock_, random_, settings);
    if (!recovery) return recovery.error();
    Shard::Settings of_shard;
    of_shard.group_bytes = group_bytes_target(settings.segment_bytes);
    of_shard.inventory.secret = (*recovery)->identity().secret;
    shard_ = std::make_unique<Shard>(of_shard, stats_);
    InventoryRestore restore(shard_->inventory());
    if (const auto restored = (*recovery)->restore(restore); !restored) return restored.error();
    const auto replayed = (*recovery)->replay(shard_->inventory());
    if (!replayed) return replayed.error();
    REQUIRE(shard_->inventory().seal() == replayed->state);
    auto log = Log::start(std::move(*recovery));
    if (!log) return log.error();
    log_ = std::move(*log);
    clocks_.emplace(log_->clocks());
    shard_->begin();
    return {};
  }

  /// Runs a message and writes its group; an error where the log fails.
  Result<void> run(const CommandEntry& entry, Words words) {
    CommandBlock block;
    REQUIRE(block.add({&entry, {{1, 1}, ReplySlot(0)}, RespVersion::resp2, words}));
    const Now now = clocks_->now(clock_.read());
    shard_->run(block, ThreadIndex(0), now);
    Group* group = shard_->hand_over();
    REQUIRE(group != nullptr);
    Group* const batch[] = {group};
    const auto room = log_->make_room(batch);
    if (!room) return room.error();
    REQUIRE(*room);
    HOLDFAST_TRY(log_->commit(batch, group->state()));
    shard_->committed(*group, now);
    return log_->tick();
  }

  Result<void> create() {
    const std::vector<std::string_view> words = {"ITEM", "CREATE", "a", "STOCK", "1000", "LIMIT", "0"};
    return run(*find_command(words).value(), words);
  }

  /// EXEC of RESERVEs with long users: more records than a group is meant for.
  Result<void> exec(int number) {
    Transaction transaction;
    transaction.begin();
    const std::string user = std::string(kUserBytesMax - 1, 'u') + std::to_string(number);
    const std::vector<std::string_view> words = {"RESERVE", "a", user};
    for (int i = 0; i < kReserves; ++i) REQUIRE(transaction.queue(*find_command(words).value(), words).has_value());
    return run(command_table()[static_cast<std::size_t>(CommandId::exec)], transaction.pack());
  }

  /// Units that are reserved; -1 when there is no item.
  std::int64_t reserved() {
    const Item* item = shard_->inventory().find(ItemName::parse("a").value(), clocks_->now(clock_.read()));
    if (item == nullptr) return -1;
    REQUIRE(shard_->inventory().verify(*item).ok);
    return item->counters.reserved;
  }

 private:
  SimulatedDisk& disk_;
  VirtualClock& clock_;
  SeededRandom random_;
  ThreadStats stats_;
  std::unique_ptr<Shard> shard_;
  std::unique_ptr<Log> log_;
  std::optional<RunningClocks> clocks_;
};

Told live(SimulatedDisk& disk, VirtualClock& clock) {
  Told told;
  try {
    Life life(disk, clock, 7);
    if (!life.open() || !life.create()) return told;
    told.created = true;
    while (told.transactions < kTransactions && life.exec(told.transactions)) ++told.transactions;
  } catch (const SimulatedCrash&) {
  }
  return told;
}

}  // namespace

TEST_CASE("transaction_crash: after a crash at any call an EXEC of 100 RESERVEs is there whole or not at all") {
  SimulatedDisk whole;
  VirtualClock whole_clock;
  REQUIRE(live(whole, whole_clock).transactions == kTransactions);
  const std::uint64_t calls = whole.counters().calls();
  int found_unacknowledged = 0;
  for (std::uint64_t call = 1; call <= calls; ++call) {
    SimulatedDisk crashed;
    VirtualClock clock;
    crashed.crash_at(call);
    const Told told = live(crashed, clock);
    for (std::uint64_t fate = 1; fate <= 5; ++fate) {
      CAPTURE(call);
      CAPTURE(fate);
      SimulatedDisk disk(crashed);
      VirtualClock later(clock);
      disk.clear_faults();
      disk.crash(fate, false);
      later.reboot(std::chrono::seconds(5));
      Life next(disk, later, 8);
      const auto opened = next.open();
      REQUIRE_MESSAGE(opened.has_value(), (opened ? std::string() : std::string(opened.error().text())));
      const std::int64_t reserved = next.reserved();
      if (told.created) CHECK(reserved >= told.transactions * kReserves);
      if (reserved > 0) CHECK(reserved % kReserves == 0);
      if (told.created) CHECK(reserved <= (told.transactions + 1) * kReserves);
      found_unacknowledged += reserved > told.transactions * kReserves ? 1 : 0;
    }
  }
  MESSAGE(calls << " calls; " << found_unacknowledged << " times a transaction was found that was not acknowledged");
  CHECK(found_unacknowledged > 0);
}
