// What the threads of the model share: the machine, the costs, what they hand to each other; and how each of them works. One
// thread.
#pragma once

#include "tests/bench/scaling/model.h"
#include "tests/bench/scaling/processors.h"

#include <cstdint>
#include <utility>

namespace holdfast::scaling {

/// Work as a row of pieces: each takes a time and then does something.
class Worker : public Machine::Thread {
 public:
  using Thread::Thread;
  std::optional<Nanos> next() final {
    for (;;) {
      if (effect_) std::exchange(effect_, nullptr)();
      if (pieces_.empty() && !plan()) return std::nullopt;
      if (pieces_.empty()) continue;
      auto [time, effect] = std::move(pieces_.front());
      pieces_.pop_front();
      effect_ = std::move(effect);
      if (time > Nanos()) return time;
    }
  }

 protected:
  void then(Nanos time, std::function<void()> effect) { pieces_.emplace_back(time, std::move(effect)); }
  /// Adds pieces when there are none. False: there is nothing to do.
  virtual bool plan() = 0;

 private:
  std::deque<std::pair<Nanos, std::function<void()>>> pieces_;
  std::function<void()> effect_;
};

class ShardThread;
class LoadThread;

struct Connection {
  ShardThread* shard = nullptr;
  LoadThread* load = nullptr;
  std::size_t replies = 0;  // that it has got of its batch
  std::size_t arrived = 0;  // replies at the load's socket
  std::size_t answers = 0;  // replies to be written at the end of the shard's turn
  bool load_sees = false;   // in the load's list
  bool in_dirty = false;
};

/// Requests of one connection, or replies to it.
struct Part {
  Connection* connection;
  std::size_t count;
};
struct Block {
  ShardThread* from;
  std::vector<Part> parts;
  std::size_t count = 0;
};
struct Group {
  std::vector<Block> blocks;
  std::size_t records = 0;
};

struct World {
  const Costs& costs;
  const Scenario& scenario;
  Machine machine;
  std::uint64_t answered = 0;
  std::uint64_t batches = 0;
};

}  // namespace holdfast::scaling
