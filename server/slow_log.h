// SLOWLOG: the newest commands that took long, with their words cut short and without secrets. No I/O and no clock; the
// thread that executed them.
#pragma once

#include "protocol/command_table.h"
#include "protocol/types.h"

#include <deque>
#include <string>
#include <vector>

namespace holdfast {

/// What is kept of a command until it turns out to be slow: its words as SLOWLOG GET shows them. Reused without
/// allocating.
class ClippedWords {
 public:
  /// At most 32 words of 128 bytes each; what is left out is said in the last word, or at the end of the word.
  void assign(const CommandEntry& command, Words words);
  /// Says in one more word that the time is that of a batch with so many more commands; 0 adds nothing.
  void add_batch(std::size_t more);
  void clear() noexcept { count_ = 0; }
  bool empty() const noexcept { return count_ == 0; }
  std::vector<std::string> take() const {
    return {words_.begin(), words_.begin() + static_cast<std::ptrdiff_t>(count_)};
  }

 private:
  std::string& next();

  std::vector<std::string> words_;
  std::size_t count_ = 0;
};

class SlowLog {
 public:
  struct Entry {
    std::uint64_t id = 0;
    std::int64_t unix_seconds = 0;
    std::uint64_t duration_us = 0;
    std::vector<std::string> words;
    std::string address;
    std::string name;
  };

  /// Takes an entry and gives it its id; keeps the newest `kept_max`.
  void add(Entry entry, std::size_t kept_max);
  /// Newest first.
  const std::deque<Entry>& entries() const noexcept { return entries_; }
  void reset() noexcept { entries_.clear(); }

 private:
  std::deque<Entry> entries_;
  std::uint64_t next_id_ = 0;
};

}  // namespace holdfast
