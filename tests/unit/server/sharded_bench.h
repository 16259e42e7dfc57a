// Several inventories as the shards of one server: commands go where the router says and their replies come back as one,
// all records go to one tape as to one log, and other benches, of other numbers of shards, go on from that. One thread.
#pragma once

#include "tests/unit/server/inventory_access.h"
#include "tests/unit/server/record_tape.h"
#include "tests/unit/server/reply_value.h"
#include "tests/unit/server/step_bench.h"

#include "server/gather.h"
#include "server/sharded_replay.h"

#include <memory>

namespace holdfast::testing {

class ShardedBench {
 public:
  /// Replays what is on the tape, if anything; throws when a record is refused. The tape outlives this.
  ShardedBench(std::uint16_t count, RecordTape& tape, const Inventory::Settings& settings = {});

  /// Runs a command at its shards.
  ReplyValue run(const std::vector<std::string>& words);
  ReplyValue run(std::string_view line) { return run(split_words(line)); }
  std::string ask(std::string_view line) { return run(line).to_text(); }
  /// All pages of ITEM LIST or SCAN from a cursor, sorted; throws when they do not end.
  std::vector<std::string> list(const std::string& command, const std::string& options,
                                const std::string& cursor = "0");
  /// Everything that clients can see, as text: the same for the same items, whatever the number of shards.
  std::string show();

  void pass(Millis time);
  void set_now(const Now& now) { now_ = now; }
  const Now& now() const noexcept { return now_; }
  void sweep();
  void set_version(RespVersion version) { version_ = version; }

  std::uint16_t count() const noexcept { return router_.count(); }
  const Router& router() const noexcept { return router_; }
  Inventory& inventory(std::size_t shard) { return *inventories_[shard]; }
  /// The sum over all shards.
  StateHash hash();
  std::vector<Inventory*> inventories() const;

 private:
  void step_at(ShardIndex shard, const CommandEntry& entry, Words words, std::string& out);

  RecordTape& tape_;
  Router router_;
  Gather gather_;
  std::vector<std::unique_ptr<Inventory>> inventories_;
  Now now_{hold_time(1'000'000), wall_time(1'800'000'000'000), {}};
  RespVersion version_ = RespVersion::resp2;
};

}  // namespace holdfast::testing
