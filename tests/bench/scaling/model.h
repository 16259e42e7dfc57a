// This server with one hot item, in virtual time: threads of shards with their turns as server/loop.h has them, the log's
// thread, and threads of a load that sends the next requests of a connection when it has all replies. README.md tells what
// is left out. One thread; the same calls give the same numbers.
//
//   load --requests--> a shard: read -> [refused from a view] --------------------------> write --replies--> load
//                                   -> block -> the owner: run -> group -> log -> block -> write
#pragma once

#include "tests/bench/scaling/costs.h"

namespace holdfast::scaling {

struct Scenario {
  bool selling = false;         // every request takes a unit; else all are refused from views
  std::size_t shards = 1;       // the first one owns the item
  std::size_t connections = 1;  // dealt to shards and threads of the load in turn
  std::size_t pipeline = 1;     // requests of a connection at once
  std::size_t load_threads = 1;
  /// Each thread, the log's and the load's too, has a processor of its own. Else there are two: the first shard and the log
  /// share one, the second shard and the load the other, as measure.py lays them out.
  bool processor_each = false;
};

/// All for a second; a thread that is busy all the time has 1.
struct Outcome {
  double requests = 0;  // answered
  double owner_busy = 0;
  double others_busy = 0;  // the other shards, each
  double log_busy = 0;
  double load_busy = 0;  // the load's threads, each
  double batches = 0;    // of the log
};

/// REQUIRES: as many connections at least as shards times threads of the load; a pipeline that fits a turn.
Outcome simulate(const Costs& costs, const Scenario& scenario);

}  // namespace holdfast::scaling
