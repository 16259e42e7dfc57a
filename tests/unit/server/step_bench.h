// An inventory on the bench: commands in as words, replies out as values, two virtual clocks that the test moves, and
// a replica that gets every record the steps make, through the bytes of the log. After each command both must agree and
// both must be sound.
#pragma once

#include "tests/unit/server/inventory_access.h"
#include "tests/unit/server/record_tape.h"
#include "tests/unit/server/reply_value.h"

#include "server/transaction_step.h"
#include "storage/group.h"
#include "storage/state_hasher.h"

#include <memory>

namespace holdfast::testing {

/// Splits a line into words as a shell does: spaces part, "..." keeps \" \\ \r \n \xNN as bytes.
std::vector<std::string> split_words(std::string_view line);

class StepBench {
 public:
  explicit StepBench(const Inventory::Settings& settings = {});

  /// Runs a command, then `inspect`s. An exception tells what is not as it must be.
  ReplyValue run(const std::vector<std::string>& words);
  ReplyValue run(std::string_view line) { return run(split_words(line)); }
  /// The same, as text.
  std::string ask(std::string_view line) { return run(line).to_text(); }
  /// Asks as one whose RESERVATION WAIT has waited its TIMEOUT.
  ReplyValue run_when_wait_is_over(std::string_view line);
  /// Sweeps until nothing is due; how many sweeps it took.
  int sweep();
  /// Goes on with an inventory to which all records so far were applied, as a restart does.
  void restart();

  /// Both clocks go on.
  void pass(Millis time) { pass_hold(time), step_wall(time); }
  void pass_hold(Millis time) { now_.hold += time; }
  void step_wall(Millis time) { now_.wall += time; }
  void set_round_up(Millis part) { now_.round_up = part; }
  const Now& now() const noexcept { return now_; }

  void set_version(RespVersion version) { version_ = version; }
  /// From here on records belong to a new group; `make_durable` ends it.
  void open_group();
  void make_durable();

  Inventory& inventory() noexcept { return *live_; }
  Inventory& replica() noexcept { return *replica_; }
  RecordTape& tape() noexcept { return tape_; }
  const StepResult& last_result() const noexcept { return result_; }
  /// While set, a test has broken a counter on purpose: what depends on it is not compared.
  void set_broken(bool broken) { broken_ = broken; }

  /// Live and replica hold the law and show the same of everything. Costs a walk over all rows.
  void compare_all();

 private:
  ReplyValue execute(Inventory& inventory, const std::vector<std::string>& words, bool wait_is_over);
  /// MULTI, EXEC, DISCARD, WATCH and what is queued between them; false: another command.
  bool execute_transaction(Inventory& inventory, const CommandEntry& entry, Words words, ReplyWriter& reply);
  void inspect();
  void feed_replica();

  Inventory::Settings settings_;
  RecordTape tape_;
  RecordTape replica_tape_;  // stays empty
  std::unique_ptr<Inventory> live_;
  std::unique_ptr<Inventory> replica_;
  StateHasher hasher_;  // reads what the replica reads
  std::size_t played_ = 0;
  Group encoded_{ShardIndex(0), 1_MiB};  // the records since
  GroupOrdinal group_;
  Now now_{hold_time(1'000'000), wall_time(1'800'000'000'000), {}};
  RespVersion version_ = RespVersion::resp2;
  StepResult result_;
  Transaction transaction_;
  WatchMark watched_;
  bool broken_ = false;
};

}  // namespace holdfast::testing
