// Blocks on their way from one thread to another, or to the same: a bounded ring of pointers, and before it the sender's
// outbox for what the ring does not take. Nobody waits for anybody. One sender, one receiver.
#pragma once

#include "server/limits.h"

#include <boost/lockfree/spsc_queue.hpp>

#include <deque>
#include <memory>

namespace holdfast {

template <class Block>
class Mailbox {
 public:
  Mailbox() = default;
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;
  ~Mailbox() {
    while (receive() != nullptr) {
    }
  }

  // The sender.

  void send(std::unique_ptr<Block> block) {
    outbox_.push_back(std::move(block));
    flush();
  }
  /// Moves what the ring has room for out of the outbox.
  void flush() {
    while (!outbox_.empty() && ring_.push(outbox_.front().get())) {
      static_cast<void>(outbox_.front().release());
      outbox_.pop_front();
    }
  }

  // The receiver.

  /// The next block, nothing when there is none.
  std::unique_ptr<Block> receive() {
    Block* block = nullptr;
    ring_.pop(block);
    return std::unique_ptr<Block>(block);
  }

 private:
  boost::lockfree::spsc_queue<Block*, boost::lockfree::capacity<kMailboxBlocksMax>> ring_;
  std::deque<std::unique_ptr<Block>> outbox_;
};

}  // namespace holdfast
