// Blocks on their way from one thread to another, or to the same: a bounded ring of pointers, before it the sender's
// outbox for what the ring does not take, and a ring for the way back, so that a block is reused where it was made.
// Nobody waits for anybody. One sender, one receiver.
#pragma once

#include "server/limits.h"

#include <boost/lockfree/spsc_queue.hpp>

#include <atomic>
#include <deque>
#include <memory>

namespace holdfast {

template <class Block>
class Mailbox {
 public:
  /// `blocks`: that the ring takes.
  explicit Mailbox(std::size_t blocks) : ring_(blocks), used_(blocks) {}
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;
  ~Mailbox() {
    while (receive() != nullptr) {
    }
    while (take_back() != nullptr) {
    }
  }

  // The sender.

  void send(std::unique_ptr<Block> block) {
    outbox_.push_back(std::move(block));
    flush();
  }
  /// Moves what the ring has room for out of the outbox. While something stays there, the receiver sees sender_waits().
  void flush() {
    push_some();
    if (outbox_.empty()) return;
    waits_.store(true, std::memory_order_seq_cst);
    push_some();  // the receiver may have made room before it could see the flag
  }
  bool outbox_empty() const noexcept { return outbox_.empty(); }
  /// A block that the receiver is done with, nothing when there is none.
  std::unique_ptr<Block> take_back() { return pop(used_); }

  // The receiver.

  /// The next block, nothing when there is none.
  std::unique_ptr<Block> receive() { return pop(ring_); }
  bool empty() const noexcept { return ring_.read_available() == 0; }
  void give_back(std::unique_ptr<Block> block) {
    if (used_.push(block.get())) static_cast<void>(block.release());
  }
  /// After receive(): whether the sender has more than the ring took and is to be woken.
  bool sender_waits() noexcept {
    return waits_.load(std::memory_order_seq_cst) && waits_.exchange(false, std::memory_order_seq_cst);
  }

 private:
  using Ring = boost::lockfree::spsc_queue<Block*>;

  static std::unique_ptr<Block> pop(Ring& ring) {
    Block* block = nullptr;
    ring.pop(block);
    return std::unique_ptr<Block>(block);
  }
  void push_some() {
    while (!outbox_.empty() && ring_.push(outbox_.front().get())) {
      static_cast<void>(outbox_.front().release());
      outbox_.pop_front();
    }
  }

  Ring ring_;
  Ring used_;
  std::deque<std::unique_ptr<Block>> outbox_;
  std::atomic<bool> waits_{false};
};

}  // namespace holdfast
