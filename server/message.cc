#include "server/message.h"

#include "protocol/check.h"

#include <cstring>

namespace holdfast {

bool CommandBlock::add(const StepCommand& command) {
  std::size_t bytes = 0;
  for (const std::string_view word : command.words) bytes += word.size();
  if (bytes > kBlockBytesMax || command.words.size() > kBlockWordsMax) return add_large(command, bytes);
  if (count_ == kBlockCommandsMax || bytes_used_ + bytes > kBlockBytesMax ||
      words_used_ + command.words.size() > kBlockWordsMax) {
    return false;
  }
  std::string_view* const views = words_.data() + words_used_;
  copy(command.words, views, bytes_.data() + bytes_used_);
  commands_[count_] = command;
  commands_[count_++].words = {views, command.words.size()};
  words_used_ += static_cast<std::uint32_t>(command.words.size());
  bytes_used_ += static_cast<std::uint32_t>(bytes);
  return true;
}

bool CommandBlock::add_large(const StepCommand& command, std::size_t bytes) {
  if (count_ > 0) return false;
  large_words_.resize(command.words.size());
  large_bytes_.resize(bytes);
  copy(command.words, large_words_.data(), large_bytes_.data());
  commands_[0] = command;
  commands_[0].words = large_words_;
  count_ = 1;
  bytes_used_ = kBlockBytesMax;  // takes no more
  words_used_ = kBlockWordsMax;
  return true;
}

void CommandBlock::copy(Words words, std::string_view* views, char* bytes) noexcept {
  for (const std::string_view word : words) {
    std::memcpy(bytes, word.data(), word.size());
    *views++ = {bytes, word.size()};
    bytes += word.size();
  }
}

void CommandBlock::clear() noexcept {
  count_ = words_used_ = bytes_used_ = 0;
  // Assigning {} would keep their room.
  large_words_ = std::vector<std::string_view>();
  large_bytes_ = std::vector<char>();
}

void ReplyBlock::add(ReplyAddress address, std::string_view bytes) {
  bytes_.append(bytes);
  heads_.push_back({address, bytes_.size()});
}

void ReplyBlock::note(const Arrival& arrival) {
  if (arrival.latency >= Arrival::kUncounted) return;
  if (arrivals_.empty() || arrivals_.back().arrived != arrival.arrived) arrivals_.push_back({arrival.arrived, {}});
  ++arrivals_.back().counts[arrival.latency];
}

ReplyBlock::Reply ReplyBlock::reply(std::size_t index) const noexcept {
  DCHECK(index < heads_.size());
  const std::size_t begin = index == 0 ? 0 : heads_[index - 1].end;
  return {heads_[index].address, std::string_view(bytes_).substr(begin, heads_[index].end - begin)};
}

void ReplyBlock::clear() {
  heads_.clear();
  arrivals_.clear();
  bytes_.clear();
  if (bytes_.capacity() > kSpareBlockBytesMax) std::string().swap(bytes_);  // assigning would keep the room
}

}  // namespace holdfast
