// Raises and clears the log's alarms: the bit that other threads see, the count, and one line for the operator at each
// change. Each alarm is one thread's.
#pragma once

#include "storage/log_recovery.h"
#include "storage/log_status.h"

namespace holdfast {

class AlarmBoard {
 public:
  AlarmBoard(LogStatus& status, const LogSettings& settings) noexcept : status_(status), settings_(settings) {}

  /// Counts; writes the line only if it was not raised before.
  void raise(LogAlarm alarm, std::string_view why);
  void clear(LogAlarm alarm);

 private:
  LogStatus& status_;
  const LogSettings& settings_;
};

}  // namespace holdfast
