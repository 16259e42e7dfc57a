// The log as who reads it from outside sees it: whole batches, or entries with the names of their items, up to what is
// durable and no further. Deterministic over FileSystem; one thread.
#pragma once

#include "server/log_entries.h"
#include "storage/log_reader.h"

#include <map>

namespace holdfast {

class LogView {
 public:
  /// `items` knows the items of all records up to `learned`.
  LogView(LogReader reader, ItemDirectory items, Lsn learned)
      : reader_(std::move(reader)), items_(std::move(items)), learned_(learned) {}

  LogReader& reader() noexcept { return reader_; }
  const ItemDirectory& items() const noexcept { return items_; }
  /// Records up to here may go without the name of an item being lost.
  Lsn learned() const noexcept { return learned_; }

  /// Appends whole batches as on disk, from the one that holds `from`: at least one, more while they are durable and
  /// fit. REQUIRES: from is kept and durable.
  Result<void> copy(Lsn from, Lsn durable, std::size_t bytes_max, std::string& out);
  /// The entries of a range. What lies below the oldest record is no error: it is not there. REQUIRES: through is durable.
  Result<LogEntries> entries(LogEntries::Range range, RespVersion version);
  /// The last record that is an entry; none when there is none up to `durable`.
  Result<Lsn> last_entry(Lsn durable);
  /// How many entries there are up to `durable`. Counts for so long as a share of work lasts and remembers: nothing when
  /// it has to be asked again.
  Result<std::optional<std::uint64_t>> count(Lsn durable);
  /// How much of the log lies behind an LSN.
  struct Lag {
    std::uint64_t records = 0;
    std::uint64_t bytes = 0;       // about: a part of a segment counts by its LSNs
    std::uint64_t file_bytes = 0;  // of the segments' files that have to stay for it
  };
  /// Of the segments that the reader has found. `live_bytes`: what of the last one is used.
  Lag lag(Lsn after, Lsn durable, std::uint64_t live_bytes) const;
  /// Takes note of the items in all records up to `durable`, so that their segments may go.
  Result<void> learn(Lsn durable);

 private:
  struct Counted {
    Lsn through;
    std::uint64_t entries = 0;
  };

  LogReader reader_;
  ItemDirectory items_;
  Lsn learned_;
  std::map<std::uint64_t, Counted> counted_;  // by segment
};

}  // namespace holdfast
