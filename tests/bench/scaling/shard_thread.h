// A thread of a shard with its turns, as server/loop.h. One thread.
//
//   poll -> read each socket, commands into blocks -> send blocks -> the owner: committed groups, run blocks, hand a group to
//   the log, replies to their threads -> deliver replies -> write to each socket -> poll
#pragma once

#include "tests/bench/scaling/log_thread.h"

namespace holdfast::scaling {

class ShardThread final : public Worker {
 public:
  ShardThread(World& world, std::size_t processor, bool owner) : Worker(processor), world_(world), is_owner_(owner) {}
  /// `owner` may be this; `log` is the owner's.
  void join(ShardThread& owner, LogThread& log) {
    owner_ = &owner;
    log_ = &log;
  }
  void request(Connection& connection) {
    ready_.push_back(&connection);
    world_.machine.wake(*this);
  }
  void take_commands(Block block) { commands_.push_back(std::move(block)); }
  void take_replies(Block block) { replies_.push_back(std::move(block)); }
  void committed(std::vector<Group> groups) {
    for (Group& group : groups) committed_.push_back(std::move(group));
    world_.machine.wake(*this);
  }

 private:
  enum class Phase { poll, send, run, hand_over, deliver, flush };
  bool plan() override;
  bool poll();
  void read(Connection& connection);
  void answer(Connection& connection, std::size_t count);
  void send_commands();
  void run();
  void hand_over();
  void release(Group& group);
  void wake_other(ShardThread& other);
  void deliver();
  void flush();

  World& world_;
  const bool is_owner_;
  ShardThread* owner_ = nullptr;
  LogThread* log_ = nullptr;
  Phase phase_ = Phase::poll;
  std::deque<Connection*> ready_;
  std::vector<Connection*> dirty_;
  std::deque<Block> filled_, replies_;
  std::size_t outstanding_ = 0;
  bool slept_ = true;
  // The owner's.
  std::deque<Block> commands_;
  std::deque<Group> committed_;
  std::deque<Block> released_;
  Group open_;
  std::size_t at_log_ = 0;
  std::size_t rounds_ = 0;
};

}  // namespace holdfast::scaling
