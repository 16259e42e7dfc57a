// One thread's end of the mailboxes: what it sends, what it receives, and whom it has to wake for that. The thread's.
#pragma once

#include "server/hub.h"

namespace holdfast {

class Post {
 public:
  /// The hub outlives this.
  Post(Hub& hub, ThreadIndex self);

  ThreadIndex self() const noexcept { return self_; }
  std::size_t threads() const noexcept { return news_.size(); }

  // Sending. Receivers are woken by wake_receivers().

  void send(ThreadIndex to, std::unique_ptr<CommandBlock> block);
  void send(ThreadIndex to, std::unique_ptr<ReplyBlock> block);
  void send(ThreadIndex to, ThreadMessage message);
  /// To all other threads, a copy each.
  template <class Message>
  void send_to_others(const Message& message) {
    for (std::size_t i = 0; i < threads(); ++i) {
      if (const ThreadIndex to(static_cast<std::uint16_t>(i)); to != self_) send(to, ThreadMessage(message));
    }
  }
  /// An empty block for commands to this owner.
  std::unique_ptr<CommandBlock> command_block(ThreadIndex to);
  /// A block of replies that this thread is done with, for reuse; nothing when there is none.
  std::unique_ptr<ReplyBlock> used_reply_block(ThreadIndex to) { return hub_.lane(self_, to).replies.take_back(); }
  /// Moves on what rings had no room for, and wakes who has got something since the last call.
  void wake_receivers();
  /// Whether all that was sent is in the rings.
  bool all_sent() const noexcept;

  // Receiving.

  /// Whether anything waits for this thread. To be asked again after it said that it sleeps.
  bool has_mail() const noexcept;
  /// A part of that.
  bool has_messages() const noexcept;
  bool has_replies() const noexcept;
  std::unique_ptr<CommandBlock> next_commands(ThreadIndex from) { return next(from, lane(from).commands); }
  std::unique_ptr<ReplyBlock> next_replies(ThreadIndex from) { return next(from, lane(from).replies); }
  std::unique_ptr<ThreadMessage> next_message(ThreadIndex from) { return next(from, lane(from).messages); }
  void give_back(ThreadIndex from, std::unique_ptr<CommandBlock> block);
  void give_back(ThreadIndex from, std::unique_ptr<ReplyBlock> block) {
    lane(from).replies.give_back(std::move(block));
  }

 private:
  Hub::Lane& lane(ThreadIndex from) const noexcept { return hub_.lane(from, self_); }
  template <class Block>
  std::unique_ptr<Block> next(ThreadIndex from, Mailbox<Block>& mailbox) {
    auto block = mailbox.receive();
    if (block != nullptr && mailbox.sender_waits()) hub_.waker(from).wake();
    return block;
  }

  Hub& hub_;
  ThreadIndex self_;
  std::vector<bool> news_;  // for whom there is something since the last wake_receivers()
};

}  // namespace holdfast
