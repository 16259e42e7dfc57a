#include "tests/unit/storage/crash_history.h"

#include <fmt/format.h>

namespace holdfast::test {

using simulation::FaultKind;
using simulation::FlushFailure;
using simulation::IoCall;
using simulation::SimulatedCrash;

CrashHistory::CrashHistory(std::uint64_t seed, FsyncPolicy fsync) : disk(seed), seed_(seed), fsync_(fsync) {}

CrashHistory::CrashHistory(const CrashHistory& other) = default;

LifeEnd CrashHistory::live(int batches) {
  LogDriver driver(disk, clock, seed_ * 1000 + ++life_, fsync_);
  LifeEnd end;
  try {
    end = live_on(driver, batches);
  } catch (const SimulatedCrash&) {
    end.crashed = true;
  }
  learn(driver);
  return end;
}

LifeEnd CrashHistory::live_on(LogDriver& driver, int batches) {
  LifeEnd end;
  if (const auto opened = driver.recover(); !opened) {
    end.refusal = said(opened);
    driver.lines.clear();
    return end;
  }
  end.violation = check(driver);
  if (!end.violation.empty() || !said(driver.start()).empty()) return end;
  knowledge = {driver.lines, {}, std::max(knowledge.durable, driver.log->durable_lsn())};
  for (int batch = 0; batch < batches; ++batch) {
    clock.advance(std::chrono::milliseconds(700));
    const auto written = driver.write(1 + driver.maker.dice().below(40));
    if (!written) return end;
    if (!said(driver.tick()).empty()) return end;
  }
  return end;
}

/// What was recovered must be what is known, and all or nothing of the batch in flight.
std::string CrashHistory::check(const LogDriver& driver) {
  const bool relaxed = fsync_ != FsyncPolicy::always;
  if (!relaxed && !extends(driver.lines, knowledge.known, knowledge.maybe)) {
    return fmt::format("{} records known, {} found, {} in flight", knowledge.known.size(), driver.lines.size(),
                       knowledge.maybe.size());
  }
  if (driver.lines.size() > knowledge.known.size() &&
      driver.lines.size() != knowledge.known.size() + knowledge.maybe.size()) {
    return "a part of a batch was found";
  }
  if (relaxed && driver.recovered.last_lsn < knowledge.durable) return "flushed records are gone";
  if (driver.recovered.state !=
      (driver.recovered.last_lsn == Lsn() ? StateHash() : state_after(driver.recovered.last_lsn))) {
    return "the state hash is not that of the last record";
  }
  return {};
}

void CrashHistory::learn(const LogDriver& driver) {
  if (driver.log == nullptr) return;
  knowledge.known = driver.lines;
  knowledge.maybe = driver.in_flight;
  knowledge.durable = std::max(knowledge.durable, Lsn(driver.log->status().durable_lsn.load()));
}

void CrashHistory::cut_power(std::uint64_t seed, bool garble) {
  disk.clear_faults();
  disk.crash(seed, garble);
  clock.reboot(std::chrono::seconds(5));
}

bool by_decision(const std::string& refusal) {
  for (std::size_t row = 0; row < kRecoveryRows; ++row) {
    const auto name = row_name(static_cast<RecoveryRow>(row));
    if (refusal.starts_with(name) && refusal.substr(name.size(), 1) == ":") return true;
  }
  return false;
}

std::string random_history(std::uint64_t seed, HistoryCounts& counts) {
  simulation::Dice dice(seed);
  CrashHistory history(seed);
  const bool garble = dice.chance(1, 4);
  constexpr std::array kFailures = {FlushFailure::keeps_new, FlushFailure::reverts_to_old, FlushFailure::mixed};
  history.disk.set_flush_failure(kFailures[dice.below(kFailures.size())]);
  for (int life = 0; life < 5; ++life) {
    const bool last = life == 4;
    if (!last && dice.chance(1, 3)) {
      const auto call = dice.chance(1, 2) ? IoCall::write_durable : IoCall::sync;
      history.disk.plan({.kind = FaultKind::fail, .call = call, .path_part = {}, .nth = 1 + dice.below(12)});
    }
    if (!last) history.disk.crash_at(1 + dice.below(150));
    const auto end = history.live(last ? 1 : static_cast<int>(dice.below(12)));
    if (!end.violation.empty()) return fmt::format("life {}: {}", life, end.violation);
    if (garble && end.refusal.starts_with("rot:")) return ++counts.refused, std::string();
    if (by_decision(end.refusal) || (last && !end.refusal.empty()))
      return fmt::format("life {}: {}", life, end.refusal);
    ++counts.deaths;
    if (!end.crashed && dice.chance(1, 4)) {
      history.disk.clear_faults();
      history.kill();
    } else {
      history.cut_power(dice.next(), garble);
    }
  }
  return {};
}

}  // namespace holdfast::test
