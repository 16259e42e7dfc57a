// What crosses from a connection to the owner of an item and back: blocks of commands, blocks of replies. A block is
// written by one thread, handed over as a whole, read by another and reused there. Both ways also on one thread.
#pragma once

#include "protocol/command_table.h"
#include "protocol/reply_writer.h"
#include "server/limits.h"
#include "server/reply_queue.h"

#include <array>
#include <memory>
#include <string>
#include <vector>

namespace holdfast {

/// Index of a thread that owns connections and a shard.
using ThreadIndex = Strong<struct ThreadIndexTag, std::uint16_t>;

/// Finds a connection of a thread again, or finds that it is gone: its place and how often that was used before.
struct ConnectionKey {
  std::uint32_t index = 0;
  std::uint32_t generation = 0;
  bool operator==(const ConnectionKey&) const noexcept = default;
};

/// Where the reply to a command goes.
struct ReplyAddress {
  ConnectionKey connection;
  ReplySlot slot;
};

/// What becomes of the waits of a connection at an owner: a message without a command.
enum class WaitEnd : std::uint8_t {
  forget,  // the connection is gone
  answer,  // they are answered as things stand
  fail,    // CLIENT UNBLOCK ERROR
};

/// Commands that came with the same poll and are answered, by LatencyClass.
struct ArrivalTally {
  std::chrono::nanoseconds arrived{};  // CLOCK_BOOTTIME
  std::array<std::uint32_t, 3> counts{};
};

/// When and in which of ArrivalTally's classes a command came.
struct Arrival {
  static constexpr std::size_t kUncounted = 3;
  std::chrono::nanoseconds arrived{};
  std::size_t latency = kUncounted;
};

/// One command on its way to an owner.
struct StepCommand {
  const CommandEntry* entry = nullptr;
  ReplyAddress address;
  RespVersion version = RespVersion::resp2;
  Words words;
  WaitEnd wait_end = WaitEnd::forget;  // without an entry only
  bool further = false;                // one of several owners got the same command and counts it
  /// Whether a client sent it as a command: no message about waits, and no page of first notices (SUBSCRIBE).
  bool counts() const noexcept { return entry != nullptr && entry->id != CommandId::subscribe && !further; }
};

/// Up to kBlockCommandsMax commands with their words.
class CommandBlock {
 public:
  /// Copies a command in; false when the block has no room for it. A block that is empty takes any command.
  bool add(const StepCommand& command);
  std::span<const StepCommand> commands() const noexcept { return {commands_.data(), count_}; }
  bool empty() const noexcept { return count_ == 0; }
  /// When the poll that brought the commands returned, on CLOCK_BOOTTIME.
  std::chrono::nanoseconds arrived() const noexcept { return arrived_; }
  void set_arrived(std::chrono::nanoseconds boot) noexcept { arrived_ = boot; }
  /// Empties the block for its next use.
  void clear() noexcept;

 private:
  bool add_large(const StepCommand& command, std::size_t bytes);
  static void copy(Words words, std::string_view* views, char* bytes) noexcept;

  std::chrono::nanoseconds arrived_{};
  std::uint32_t count_ = 0;
  std::uint32_t words_used_ = 0;
  std::uint32_t bytes_used_ = 0;
  std::array<StepCommand, kBlockCommandsMax> commands_;
  std::array<std::string_view, kBlockWordsMax> words_;
  std::array<char, kBlockBytesMax> bytes_;
  // The one command of a block that it would not fit.
  std::vector<std::string_view> large_words_;
  std::vector<char> large_bytes_;
};

/// Replies for the connections of one thread.
class ReplyBlock {
 public:
  struct Reply {
    ReplyAddress address;
    std::string_view bytes;
  };

  bool full() const noexcept { return heads_.size() >= kBlockCommandsMax || bytes_.size() >= kBlockBytesMax; }
  bool empty() const noexcept { return heads_.empty(); }
  std::size_t size() const noexcept { return heads_.size(); }
  void add(ReplyAddress address, std::string_view bytes);
  /// The reply just added answers a command that came then.
  void note(const Arrival& arrival);
  std::span<const ArrivalTally> arrivals() const noexcept { return arrivals_; }
  Reply reply(std::size_t index) const noexcept;
  /// Empties the block; a large one gives its memory back.
  void clear();

 private:
  struct Head {
    ReplyAddress address;
    std::size_t end;  // in bytes_
  };
  std::vector<Head> heads_;
  std::vector<ArrivalTally> arrivals_;  // neighbours differ in their time
  std::string bytes_;
};

/// Blocks for reuse. One thread.
template <class Block>
class BlockPool {
 public:
  std::unique_ptr<Block> take() {
    if (spare_.empty()) return std::make_unique<Block>();
    std::unique_ptr<Block> block = std::move(spare_.back());
    spare_.pop_back();
    return block;
  }
  void give(std::unique_ptr<Block> block) {
    if (spare_.size() >= kSpareBlocksMax) return;
    block->clear();
    spare_.push_back(std::move(block));
  }

 private:
  std::vector<std::unique_ptr<Block>> spare_;
};

}  // namespace holdfast
