// The log's thread, as storage/log_thread.h: whenever it is idle it takes all groups that wait, writes them and waits for the
// disk. One thread.
#pragma once

#include "tests/bench/scaling/world.h"

namespace holdfast::scaling {

class LogThread final : public Worker {
 public:
  LogThread(World& world, std::size_t processor, ShardThread& owner)
      : Worker(processor), world_(world), owner_(owner) {}
  void submit(Group group) {
    waiting_.push_back(std::move(group));
    world_.machine.wake(*this);
  }

 private:
  bool plan() override;

  World& world_;
  ShardThread& owner_;
  std::vector<Group> waiting_;
  std::vector<Group> at_disk_;
  bool flushing_ = false;
};

}  // namespace holdfast::scaling
