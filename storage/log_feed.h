// Who hears of what the log writes, batch by batch.
#pragma once

#include "storage/segment_format.h"

#include <span>

namespace holdfast {

class LogFeed {
 public:
  virtual ~LogFeed() = default;
  /// A batch was written; with another policy than --fsync always it need not be durable yet. `batch`: as on disk, valid
  /// for the call. Log thread; must not block.
  virtual void on_written(std::span<const std::byte> batch, const BatchHeader& header) = 0;
  /// Everything up to here is durable. Log thread; must not block.
  virtual void on_durable(Lsn lsn) = 0;
};

}  // namespace holdfast
