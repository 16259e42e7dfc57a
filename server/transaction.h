// What a connection has queued since MULTI, and the item it is bound to by that or by WATCH: decides what may be queued
// and packs it into the words of one message. No I/O; the connection's thread.
//
//   words of the message:   header                  item    words of the commands, one after the other
//                           flags and a QueuedHead   ""      [SET k 1] [GET k] ...
//                           for each command         = none
#pragma once

#include "protocol/command_table.h"
#include "server/limits.h"

#include <optional>
#include <string>
#include <vector>

namespace holdfast {

/// A queued command in the header of the message.
struct QueuedHead {
  CommandId id{};
  std::uint16_t words = 0;
};

/// The item that a key argument of a command is about; nothing for a key of neither kind of the Redis view.
/// `view`: as key_spec says.
Result<std::optional<std::string_view>> item_of_key(std::string_view key, bool view);

class Transaction {
 public:
  /// Between MULTI and EXEC.
  bool is_open() const noexcept { return open_; }
  void begin() noexcept { open_ = true; }
  /// As if neither MULTI nor WATCH had been.
  void clear();
  /// How many commands are queued.
  std::size_t count() const noexcept { return heads_.size(); }
  /// Bytes of what is queued.
  std::size_t bytes() const noexcept { return bytes_.size(); }
  /// Bytes of memory that it keeps.
  std::size_t memory() const noexcept {
    return sizeof(*this) + bytes_.capacity() + ends_.capacity() * sizeof(std::uint32_t) +
           packed_.capacity() * sizeof(std::string_view) + heads_.capacity() * sizeof(QueuedHead);
  }
  /// EXEC will be refused.
  void abort() noexcept { aborted_ = true; }
  bool is_aborted() const noexcept { return aborted_; }

  /// Takes a command; an error, which aborts, when it cannot be part of this transaction.
  Result<void> queue(const CommandEntry& entry, Words words);

  /// Binds it to the item of WATCH's keys. True: the owner has to be told; false: it is watched already, or there is
  /// nothing to watch.
  Result<bool> watch(Words words);
  bool is_watching() const noexcept { return watching_; }
  /// UNWATCH. REQUIRES: not open.
  void unwatch() { clear(); }
  /// The item it is bound to; empty: none.
  std::string_view item() const noexcept { return item_; }

  /// The words of WATCH's message and of EXEC's; they live until the next change.
  Words watch_message();
  Words pack();

 private:
  Result<void> may_queue(const CommandEntry& entry, Words words) const;
  Result<void> bind(const CommandEntry& entry, Words words);
  Result<void> bind(std::string_view item);

  bool open_ = false;
  bool aborted_ = false;
  bool watching_ = false;
  std::string item_;
  std::vector<QueuedHead> heads_;
  std::string bytes_;                // of all queued words
  std::vector<std::uint32_t> ends_;  // of each, in bytes_
  std::string header_;
  std::vector<std::string_view> packed_;
};

/// Commands that may stand in a transaction though they are about no item.
bool is_itemless_in_transaction(CommandId id) noexcept;

}  // namespace holdfast
