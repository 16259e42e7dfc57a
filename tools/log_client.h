// Reads a running server's log: LOG READ and LOG SNAPSHOT. Everything that comes is held against its sums and against what
// came before. One thread.
#pragma once

#include "storage/segment_format.h"
#include "tools/resp_client.h"

#include <functional>
#include <span>

namespace holdfast {

class LogClient {
 public:
  explicit LogClient(RespClient& client) : client_(client) {}

  /// Which log it is, how far it was durable, and the oldest LSN that is kept. REQUIRES: looked.
  const LogId& log() const noexcept { return log_; }
  Lsn durable() const noexcept { return durable_; }
  Lsn oldest() const noexcept { return oldest_; }

  /// Asks which log it is and what is kept of it. Errors: as the server says; io_failed.
  Result<void> look();

  /// A batch as on disk, until the next one; false ends the reading. The boot id of its clocks is not known.
  using OnBatch = std::function<Result<bool>(const BatchHeader& header, std::span<const std::byte> body)>;
  /// All batches from the one that holds `from`, up to what was durable when looked at. Errors: as above;
  /// damaged where an answer is no sequence of sound batches that follow one another; the callee's own.
  Result<void> read(Lsn from, const OnBatch& on_batch);

  /// Bytes of the newest snapshot, in order. Returns the LSN that it ends with.
  using OnBytes = std::function<Result<void>(std::uint64_t offset, std::span<const std::byte> bytes)>;
  Result<Lsn> read_snapshot(const OnBytes& on_bytes);
  /// The server keeps that snapshot, and the log behind it, for another minute.
  Result<void> hold_snapshot(Lsn lsn);

 private:
  Result<Reply> ask(const std::vector<std::string>& words);
  /// One of LOG READ and LOG SNAPSHOT: [log id, number, number, bytes].
  Result<Reply> ask_for_part(const std::vector<std::string>& words);
  Result<std::string> ask_for_batches(Lsn from);
  /// Those in one answer; the LSN behind the last, none: no more are wanted.
  Result<Lsn> take_batches(std::string_view bytes, Lsn next, const OnBatch& on_batch);

  RespClient& client_;
  LogId log_{};
  Lsn durable_;
  Lsn oldest_;
  std::uint64_t sum_ = 0;  // of the batch before
  bool sum_known_ = false;
};

}  // namespace holdfast
