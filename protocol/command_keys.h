// Where a command's keys stand among its words, read from its line in the table: the position it gives, and whether its
// syntax goes on with "[key ...]" or "[key value ...]". Constant data; any thread.
#pragma once

#include "protocol/command_table.h"

#include <vector>

namespace holdfast {

struct KeySpec {
  int first = 0;  // position of the first key; 0: none
  int step = 1;   // from one key to the next
  /// From first to the last word; else there is one.
  bool many = false;
  /// The number of keys stands before the first of them (EVAL); first is 0 then.
  int count_at = 0;
  /// Keys of the Redis view ({item}:stock), not items.
  bool view = false;
};

KeySpec key_spec(const CommandEntry& entry) noexcept;

/// The keys of a request; an error when the number that it gives does not fit. REQUIRES: its arity fits.
Result<std::vector<std::string_view>> keys_of(const CommandEntry& entry, Words words);

}  // namespace holdfast
