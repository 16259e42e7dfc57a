// Lives of one log with the power cut in them, checked against what was acknowledged: the core of the crash tests and of
// the tests of the tests (mutants). One thread.
#pragma once

#include "tests/unit/storage/log_fixture.h"

namespace holdfast::test {

/// What somebody outside knows of the log.
struct Knowledge {
  Lines known;  // acknowledged, or seen in a log that was opened
  Lines maybe;  // handed over, outcome unknown
  Lsn durable;  // the log said so
};

/// What a run came to.
struct LifeEnd {
  bool crashed = false;
  std::string violation;  // empty: every promise held
  std::string refusal;    // the text with which recovery refused to start
};

class CrashHistory {
 public:
  explicit CrashHistory(std::uint64_t seed, FsyncPolicy fsync = FsyncPolicy::always);
  CrashHistory(const CrashHistory& other);
  CrashHistory& operator=(const CrashHistory&) = delete;

  /// Opens the log, checks what it holds, and writes so many batches. Ends early where the power goes or a call fails.
  LifeEnd live(int batches);
  /// Ends a life: what was not durable is at the mercy of the dice.
  void cut_power(std::uint64_t seed, bool garble);
  /// Ends a life by SIGKILL.
  void kill() { disk.kill_process(); }

  SimulatedDisk disk;
  VirtualClock clock;
  Knowledge knowledge;

 private:
  LifeEnd live_on(LogDriver& driver, int batches);
  std::string check(const LogDriver& driver);
  void learn(const LogDriver& driver);

  std::uint64_t seed_;
  FsyncPolicy fsync_;
  std::uint64_t life_ = 0;
};

/// Whether a start was refused by the recovery table, not by a failed call.
bool by_decision(const std::string& refusal);

/// What random histories came to.
struct HistoryCounts {
  std::uint64_t deaths = 0;   // by power cut or kill
  std::uint64_t refused = 0;  // starts that were refused because garbled sectors look like rot, which is right
};

/// A random history of lives with random crashes, kills and failed flushes, from one seed. Empty when every promise
/// held. Adds to the counts.
std::string random_history(std::uint64_t seed, HistoryCounts& counts);

}  // namespace holdfast::test
