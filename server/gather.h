// One command that several shards execute, each its part, and their replies made into one:
//
//   counts add up (DBSIZE EXISTS TOUCH DEL UNLINK)          MGET answers in the order of its keys
//   arrays follow one another (ITEM VERIFY *)               one OK stands for all (ITEM RETURNS *)
//
// An error of any part is the answer; of several, the lowest shard's. Shards that did their part have done it: only the
// keys of one owner are all or nothing. One thread, the connection's; for reuse.
#pragma once

#include "server/router.h"

#include <string>
#include <vector>

namespace holdfast {

class Gather {
 public:
  /// What one shard is asked.
  struct Part {
    ShardIndex shard;
    Words words;
  };

  /// Begins a command: its parts, the lowest shard first. They live until the next call of plan() or take(), and as
  /// long as the request that `words` point into. What is kept is bounded by the number of words and shards.
  /// REQUIRES: none is under way; the route is all or several.
  std::span<const Part> plan(const CommandEntry& entry, Words words, const Router& router);

  /// A shard's reply. Returns whether it was the last that was awaited.
  /// REQUIRES: the shard is of the plan and has not answered yet; one whole reply of its part's step.
  bool add(ShardIndex shard, std::string_view bytes);
  /// Replies that are still to come.
  std::size_t awaited() const noexcept { return awaited_; }

  /// Appends the one reply. REQUIRES: add() has returned true.
  void take(std::string& out);

  /// Bytes of memory that it keeps.
  std::size_t memory() const noexcept;

 private:
  /// How replies become one.
  enum class Way : std::uint8_t { add, join, weave, any };
  struct Answer {
    ShardIndex shard;
    bool given = false;
    std::string bytes;
  };

  static Way way_of(CommandId id);
  void plan_all(Words words, const Router& router);
  void plan_keys(Words words, const Router& router);
  const Answer* error() const noexcept;
  void add_up(std::string& out) const;
  void join(std::string& out) const;
  void weave(std::string& out) const;

  Way way_ = Way::any;
  std::size_t awaited_ = 0;
  std::vector<Part> parts_;
  std::vector<std::string_view> words_;  // what the parts view
  std::vector<std::uint16_t> owners_;    // of each key, as an index into answers_
  std::vector<Answer> answers_;          // in the order of parts_
};

}  // namespace holdfast
