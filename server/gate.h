// The gate: a reply leaves when the group that it rests on is durable, and at once when it rests on none. It waits here,
// at the owner, in that group's list, already in the block in which it will travel. No I/O; the owner's thread.
//
//   steps -> reply rests on nothing ............................... ready blocks ---> threads of the connections
//            reply rests on group 7 -> blocks of group 7 --+             ^
//            reply rests on group 8 -> blocks of group 8   +- durable: --+
#pragma once

#include "server/message.h"

#include <deque>

namespace holdfast {

class Gate {
 public:
  explicit Gate(std::size_t threads) : ready_(threads) {}

  /// From here on replies may rest on this group. REQUIRES: greater than the last.
  void open(GroupOrdinal group);
  /// Takes a reply. REQUIRES: `rests_on` is none or was opened and not released.
  void reply(ThreadIndex thread, ReplyAddress address, GroupOrdinal rests_on, std::string_view bytes,
             const Arrival& arrival = {});
  /// Everything up to this group is durable: what rests on it becomes ready.
  void release(GroupOrdinal through);
  /// The next block for the connections of a thread, nothing when none is ready.
  std::unique_ptr<ReplyBlock> take(ThreadIndex thread);
  /// A block whose replies are delivered, for reuse.
  void give_back(std::unique_ptr<ReplyBlock> block) { pool_.give(std::move(block)); }
  /// Replies that wait for a group.
  std::size_t waiting() const noexcept { return waiting_; }

 private:
  using Blocks = std::deque<std::unique_ptr<ReplyBlock>>;
  struct Group {
    GroupOrdinal ordinal;
    std::vector<Blocks> blocks;  // by thread
  };

  void append(Blocks& blocks, ReplyAddress address, std::string_view bytes, const Arrival& arrival);

  std::vector<Blocks> ready_;  // by thread
  std::deque<Group> groups_;   // oldest first
  std::vector<Group> spare_;
  std::size_t waiting_ = 0;
  BlockPool<ReplyBlock> pool_;
};

}  // namespace holdfast
