#include "server/reply_queue.h"

#include "protocol/check.h"
#include "server/limits.h"

#include <utility>

namespace holdfast {
namespace {

/// Room for what may wait, a last reply, and what is sent of it; had at once, since doubling would make it twice as much.
constexpr std::size_t kRoomBytes = kOutputBytesMax + kOutputBytesMax / 2;
constexpr std::size_t kRoomFromBytes = kOutputBytesMax / 4;
static_assert(2 * 2 * kRoomFromBytes <= kRoomBytes, "more than doubling, so that it is had exactly");

void make_room(std::string& text) {
  if (text.size() >= kRoomFromBytes && text.capacity() < kRoomBytes) text.reserve(kRoomBytes);
}

}  // namespace

std::string& ReplyQueue::begin() {
  std::string& target = head_ == tail_ ? out_ : early_;
  make_room(target);
  begun_ = target.size();
  return target;
}

void ReplyQueue::end(bool silent) {
  std::string& target = head_ == tail_ ? out_ : early_;
  CHECK(target.size() >= begun_);
  if (silent) return target.resize(begun_);
  if (head_ == tail_) return;
  ++early_count_;
  push(false) = {static_cast<std::uint32_t>(begun_), static_cast<std::uint32_t>(early_.size() - begun_), true, false};
}

ReplySlot ReplyQueue::defer(bool silent) {
  push(silent);
  return ReplySlot(tail_ - 1);
}

void ReplyQueue::fill(ReplySlot slot, std::string_view bytes) {
  const std::uint32_t distance = slot.value() - head_;
  CHECK(distance < tail_ - head_ && !entry(slot.value()).answered);
  Entry& filled = entry(slot.value());
  if (filled.silent) bytes = {};
  if (distance == 0) {
    make_room(out_);
    out_.append(bytes);
    ++head_;
    return release_head();
  }
  filled.begin = static_cast<std::uint32_t>(early_.size());
  filled.size = static_cast<std::uint32_t>(bytes.size());
  filled.answered = true;
  ++early_count_;
  make_room(early_);
  early_.append(bytes);
}

/// Moves the early replies that are at the head now to the socket's bytes.
void ReplyQueue::release_head() {
  for (; head_ != tail_ && entry(head_).answered; ++head_, --early_count_) {
    out_.append(early_, entry(head_).begin, entry(head_).size);
  }
  if (early_count_ > 0) return;
  early_.clear();
  if (early_.capacity() > kKeptBufferBytesMax) std::string().swap(early_);
}

ReplyQueue::Entry& ReplyQueue::push(bool silent) {
  if (open_count() == entries_.size()) {
    std::vector<Entry> larger(entries_.size() * 2);
    for (std::uint32_t slot = head_; slot != tail_; ++slot) larger[slot & (larger.size() - 1)] = entry(slot);
    entries_ = std::move(larger);
  }
  Entry& fresh = entry(tail_++);
  fresh = {0, 0, false, silent};
  return fresh;
}

void ReplyQueue::sent(std::size_t count) {
  CHECK(count <= out_.size() - sent_);
  sent_ += count;
  if (sent_ < out_.size()) {
    // Who always has something more to take would else never give anything back.
    if (sent_ < kKeptBufferBytesMax || sent_ < out_.size() / 4) return;
    out_.erase(0, sent_);
    sent_ = 0;
    return;
  }
  sent_ = 0;
  out_.clear();
  if (out_.capacity() > kKeptBufferBytesMax) std::string().swap(out_);  // assigning would keep the room
}

}  // namespace holdfast
