// Where a relay gets the log from. Blocking calls; one thread.
#pragma once

#include "replication/cursor.h"
#include "replication/event_sink.h"

namespace holdfast {

/// Whole batches as on disk, from the one that holds the LSN that was asked for; empty when there is nothing new.
struct LogPage {
  LogRange range;
  std::string batches;
};

/// Errors of all calls: `damaged` for an LSN that the server does not have any more, or not yet; no_perm, no_auth,
/// wrong_pass, unsupported when the server will never answer this client; anything else may pass.
class LogSource {
 public:
  virtual ~LogSource() = default;
  /// Which log it is and how far it is durable; the oldest LSN may stay none.
  virtual Result<LogRange> look() = 0;
  /// From the batch that holds `from` on; waits up to `block` for it to become durable.
  virtual Result<LogPage> read(Lsn from, std::size_t bytes_max, Millis block) = 0;
  /// The sink has everything through `lsn`; and what it parked, or parks no longer.
  virtual Result<void> acknowledge(const std::string& sink, Lsn lsn, const std::vector<ParkNotice>& notices) = 0;

  /// Any thread: what a call waits for ends soon with an error, and so does every later call.
  virtual void interrupt() {}
};

}  // namespace holdfast
