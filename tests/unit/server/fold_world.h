// A log on the simulated disk that an inventory writes, starts from it as the server makes them, and snapshots of it. One
// thread.
#pragma once

#include "server/sharded_replay.h"
#include "storage/log.h"
#include "storage/log_files.h"
#include "tests/simulation/simulated_disk.h"
#include "tests/unit/server/sharded_bench.h"

#include <map>

namespace holdfast::testing {

using simulation::Dice;
using simulation::SeededRandom;
using simulation::SimulatedDisk;
using simulation::VirtualClock;

inline constexpr const char* kLogDirectory = "/data/log";

template <class T>
std::string said(const Result<T>& result) {
  return result ? std::string() : std::string(result.error().text());
}

/// Commands that go through an inventory into a log, a batch each.
class LogWriter {
 public:
  /// `begin`: where its time begins.
  LogWriter(SimulatedDisk& disk, VirtualClock& clock, std::uint64_t seed, HoldTime begin)
      : disk_(disk), clock_(clock), random_(seed), dice_(seed), now_{begin, {}, {}} {}

  Result<void> open();
  /// One command of a random history; what it writes, if anything, is durable afterwards.
  Result<void> run();
  Lsn durable() const { return log_->durable_lsn(); }
  std::uint64_t below(std::uint64_t bound) { return dice_.below(bound); }

 private:
  SimulatedDisk& disk_;
  VirtualClock& clock_;
  SeededRandom random_;
  Dice dice_;
  RecordTape tape_;
  std::unique_ptr<ShardedBench> bench_;
  std::unique_ptr<Log> log_;
  Group group_{ShardIndex(0), 16_KiB};
  std::uint64_t ordinal_ = 0;
  std::uint64_t version_ = 1;
  Now now_;
};

struct Started {
  std::string refusal;
  Lsn from;  // the snapshot
  Lsn last;
  std::map<std::string, std::vector<std::string>> items;  // snapshot_text.h
  std::vector<std::string> notices;
};

/// What a start with so many shards comes to. Changes nothing.
Started start(FileSystem& files, const std::string& directory, std::uint16_t shards);
inline Started start(SimulatedDisk& disk, std::uint16_t shards) { return start(disk, kLogDirectory, shards); }

std::vector<Lsn> snapshots_of(SimulatedDisk& disk);
/// A start now comes to the same as one from nothing but the log, for 1 to 4 shards, and begins with this snapshot.
void check_same(const SimulatedDisk& disk, Lsn from);
/// A log of a few hundred records in several segments.
SimulatedDisk small_log(Lsn& durable, std::uint64_t seed = 5);

}  // namespace holdfast::testing
