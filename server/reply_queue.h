// Replies of one connection in the order of its requests. Each request has a slot; a reply that comes early waits here
// until those before it have come. No I/O; the connection's thread.
//
//   requests   7    8    9    10          out       bytes ready for the socket: everything before slot 7
//              |    |    |    |           slot 7    not answered: the head, all others wait for it
//             open early open early       slot 8    answered early: its bytes stand in `early_`
#pragma once

#include "protocol/types.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast {

/// Number of a request on its connection; counts up and wraps.
using ReplySlot = Strong<struct ReplySlotTag, std::uint32_t>;

class ReplyQueue {
 public:
  /// Begins a reply that is known at once: the caller appends it to what this returns and then calls end().
  std::string& begin();
  /// Ends it. `silent`: it is dropped (CLIENT REPLY).
  void end(bool silent);
  /// A slot for a reply that comes later.
  ReplySlot defer(bool silent);
  /// The reply of a deferred slot. Each slot takes one.
  void fill(ReplySlot slot, std::string_view bytes);

  /// Slots without a reply, or behind one without.
  std::uint32_t open_count() const noexcept { return tail_ - head_; }
  /// Bytes that wait: for earlier replies or for the socket.
  std::size_t bytes() const noexcept { return out_.size() - sent_ + early_.size(); }
  /// Bytes of memory behind them.
  std::size_t memory() const noexcept {
    return out_.capacity() + early_.capacity() + entries_.capacity() * sizeof(Entry);
  }
  /// What may go to the socket now.
  std::string_view ready() const noexcept { return std::string_view(out_).substr(sent_); }
  /// The first `count` bytes of ready() are sent.
  void sent(std::size_t count);

 private:
  struct Entry {
    std::uint32_t begin = 0;  // in early_
    std::uint32_t size = 0;
    bool answered = false;
    bool silent = false;
  };

  Entry& entry(std::uint32_t slot) noexcept { return entries_[slot & (entries_.size() - 1)]; }
  Entry& push(bool silent);
  void release_head();

  std::vector<Entry> entries_ = std::vector<Entry>(4);  // a ring; its size is a power of two
  std::uint32_t head_ = 0;
  std::uint32_t tail_ = 0;
  std::uint32_t early_count_ = 0;  // answered entries of the ring
  std::size_t begun_ = 0;          // where the reply between begin() and end() starts
  std::size_t sent_ = 0;
  std::string out_;
  std::string early_;
};

}  // namespace holdfast
