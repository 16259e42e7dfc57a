// A thread of the load, as tools/bench_raw.cc: when a connection has all replies of a batch, its next one is sent at once. One
// thread.
#pragma once

#include "tests/bench/scaling/world.h"

namespace holdfast::scaling {

class LoadThread final : public Worker {
 public:
  LoadThread(World& world, std::size_t processor) : Worker(processor), world_(world) {}
  void add(Connection& connection) { starting_.push_back(&connection); }
  /// Replies are at a connection's socket.
  void reply(Connection& connection, std::size_t count) {
    connection.arrived += count;
    if (!std::exchange(connection.load_sees, true)) ready_.push_back(&connection);
    world_.machine.wake(*this);
  }

 private:
  bool plan() override;
  void take(Connection& connection);
  void send(Connection& connection);

  World& world_;
  std::vector<Connection*> starting_;
  std::deque<Connection*> ready_;
  bool slept_ = true;
};

}  // namespace holdfast::scaling
