// Turns the log's batches into events. Checks all that the bytes can show: sums, the chain of sums, the log they belong
// to, LSNs without a gap. Pure; one thread.
#pragma once

#include "replication/cursor.h"
#include "replication/sink_items.h"
#include "storage/segment_format.h"

#include <cstddef>
#include <span>

namespace holdfast {

class BatchDecoder {
 public:
  /// Goes on after `cursor`, whose log is that of the batches. `items`: what was known there.
  BatchDecoder(const Cursor& cursor, SinkItems items);

  /// Takes the next whole batches as on disk; the first may begin at or before the LSN after cursor(), as it holds it.
  /// REQUIRES: all that was fed before has been given out.
  void feed(std::string batches);
  /// Whether all that was fed has been given out.
  bool done() const noexcept { return at_ == fed_.size(); }

  /// At most `events_max` next events, none when done or when what follows is of no interest to sinks; moves cursor() to
  /// their end. Errors: `damaged` for bytes that are no batch, a gap, an item that nothing has named; `foreign` for
  /// another log; `unsupported` for a newer format. After one the decoder is of no use.
  Result<EventBatch> next(std::size_t events_max);

  /// Everything through here has been given out.
  Lsn cursor() const noexcept { return cursor_; }
  /// What a sink has to keep with it.
  const SinkItems& items() const noexcept { return items_; }

 private:
  Result<BatchHeader> check_batch(std::span<const std::byte> rest) const;

  std::uint64_t log_tag_;
  Lsn cursor_;
  SinkItems items_;
  std::string fed_;
  std::size_t at_ = 0;          // the batch that comes next, or is given out in part
  bool checked_ = false;        // that batch is sound
  BatchHeader header_;          // of it, once it is
  Lsn last_lsn_;                // of the batch before it, none at first
  std::uint64_t last_sum_ = 0;  // of that batch's body
};

}  // namespace holdfast
