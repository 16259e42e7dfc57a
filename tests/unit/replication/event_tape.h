// The events of a log in the making, piece by piece. One thread.
#pragma once

#include "replication/batch_decoder.h"
#include "tests/unit/replication/log_maker.h"

namespace holdfast::test {

class EventTape {
 public:
  explicit EventTape(LogMaker& log) : log_(log), decoder_(Cursor{log.log, Lsn(), Epoch(1)}, {}) {}

  /// All that was recorded since the last call. REQUIRES: something was.
  std::vector<Event> next() {
    decoder_.feed(log_.batch());
    auto batch = decoder_.next(1'000'000);
    return batch.has_value() ? std::move(batch->events) : std::vector<Event>();
  }

 private:
  LogMaker& log_;
  BatchDecoder decoder_;
};

}  // namespace holdfast::test
