// A log under test on the simulated disk, with a model of what it must hold. One thread.
#pragma once

#include "storage/log.h"
#include "storage/recovery_tail.h"
#include "storage/state_hasher.h"
#include "tests/simulation/simulated_disk.h"

#include <map>

namespace holdfast::test {

using simulation::Dice;
using simulation::SeededRandom;
using simulation::SimulatedDisk;
using simulation::VirtualClock;

/// Sweeps take every n-th step only where each step costs many times more: in debug and sanitizer builds.
#ifdef NDEBUG
inline constexpr std::uint64_t kThinning = 1;
#else
inline constexpr std::uint64_t kThinning = 29;
#endif

/// The text of a failed result, empty for a good one.
template <class T>
std::string said(const Result<T>& result) {
  return result.has_value() ? std::string() : std::string(result.error().text());
}

/// A line that says everything about a record, its stamp but for the LSN included.
std::string describe(const RecordStamp& stamp, const ItemRecord& record);
std::string describe(const RecordStamp& stamp, const ReservationRecord& record);
std::string describe(const RecordStamp& stamp, const ForgetRecord& record);
std::string describe(const RecordStamp& stamp, const DefaultReturnsRecord& record);

/// What a log holds: its records by LSN, CLOCK records left out.
using Lines = std::map<Lsn, std::string>;

/// Writes down what a reader finds.
class Lister final : public RecordVisitor {
 public:
  Result<void> on_item(const RecordStamp& stamp, const ItemRecord& record) override { return add(stamp, record); }
  Result<void> on_reservation(const RecordStamp& stamp, const ReservationRecord& record) override {
    return add(stamp, record);
  }
  Result<void> on_forget(const RecordStamp& stamp, const ForgetRecord& record) override { return add(stamp, record); }
  Result<void> on_default_returns(const RecordStamp& stamp, const DefaultReturnsRecord& record) override {
    return add(stamp, record);
  }
  Lines lines;

 private:
  template <class Record>
  Result<void> add(const RecordStamp& stamp, const Record& record) {
    lines.emplace(stamp.lsn, describe(stamp, record));
    return {};
  }
};

/// Random records, all values allowed by the format.
class RecordMaker {
 public:
  explicit RecordMaker(std::uint64_t seed) : dice_(seed) {}

  /// Adds one to the group; its line.
  std::string add(RecordSink& sink, RecordPosition& position);
  /// A RESERVE as in a sale: number user, default options.
  std::string add_reserve(RecordSink& sink, RecordPosition& position);
  Dice& dice() noexcept { return dice_; }

 private:
  RecordStamp stamp();
  std::int64_t number(std::int64_t max);
  std::string text(std::size_t bytes_max);
  Counters counters();
  UserId user();
  ReservationId id();

  Dice dice_;
  std::int64_t hold_ms_ = 1000;
  std::int64_t wall_ms_ = 1'800'000'000'000;
  std::uint64_t sequence_ = 0;
  std::string user_text_;
  std::string name_;
  std::string reason_;
};

/// One process's life with a log, over a disk that outlives it.
class LogDriver {
 public:
  LogDriver(SimulatedDisk& disk, VirtualClock& clock, std::uint64_t seed, FsyncPolicy fsync = FsyncPolicy::always);

  /// Recovers and starts. What was found is in `recovered` and `lines`.
  Result<void> open();
  /// Recovers only.
  Result<void> recover();
  Result<void> start();
  /// Writes one batch of one or several groups; its lines join `lines` when it is acknowledged, before that they are
  /// in `in_flight`. False: no room.
  Result<bool> write(std::size_t records);
  Result<void> tick() const { return log->tick(); }

  LogSettings settings;
  std::unique_ptr<LogRecovery> recovery;
  std::unique_ptr<Log> log;
  RecoveredLog recovered;
  Lines lines;      // recovered and acknowledged
  Lines in_flight;  // handed over, outcome unknown
  std::vector<std::string> notices;
  RecordMaker maker;
  /// Batches tell the state that the records make, not the tests' short one.
  bool tells_true_state = false;

 private:
  Result<void> follow();
  Result<StateHash> state_of(std::span<Group* const> batch, Lsn next);

  SimulatedDisk& disk_;
  VirtualClock& clock_;
  SeededRandom random_;
  std::vector<std::unique_ptr<Group>> groups_;
  std::uint64_t ordinal_ = 0;
  StateHasher hasher_;
};

/// The state hash that the tests use: of the last LSN alone.
StateHash state_after(Lsn lsn) noexcept;

/// Whether `later` begins with all of `earlier` and goes on with a prefix of `maybe`.
bool extends(const Lines& later, const Lines& earlier, const Lines& maybe);

}  // namespace holdfast::test
