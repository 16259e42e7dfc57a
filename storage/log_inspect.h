// Looks into a log without a server: a listing of its records, and the verdict of a start with what a repair would lose.
// Reads only. One thread. The log's secret is never shown.
#pragma once

#include "storage/log_recovery.h"

#include <functional>
#include <optional>

namespace holdfast {

/// Takes one line of output, without its end.
using LineSink = std::function<void(std::string_view)>;

struct DumpOptions {
  std::string directory;
  Lsn from{1};
  Lsn through{UINT64_MAX};
  bool json = false;    // one JSON object a line, else "key=value" pairs
  bool frames = false;  // also a line for each segment, batch and CLOCK record
};

/// Lists the records that are sound, in order, up to the first that is not. May run beside a server: what it writes
/// meanwhile may or may not be seen. Names and users are percent-escaped where they are not printable ASCII.
/// Errors: a file cannot be opened or read, or there is no log; an unsound place ends the listing with an error that
/// names it, unless nothing but the log's end is there.
Result<void> dump_log(FileSystem& files, const DumpOptions& options, const LineSink& out);

/// What a start would say, and what is there beyond that.
struct LogVerdict {
  bool usable = false;    // a start succeeds
  std::string refusal;    // why not
  std::string no_repair;  // why a repair could not tell what it would lose: the device cannot read
  RecoveredLog found;     // of a usable log
  std::uint64_t segments = 0;
  Lsn first{1};                      // where the log begins
  std::optional<Lsn> state_differs;  // the end of the first batch that says another state than its records make
  Lsn kept;                          // a repair keeps everything up to here
  Lsn known;                         // the highest LSN that any file mentions
  /// LSNs after `kept` that a repair would lose.
  std::uint64_t lost() const noexcept { return known > kept ? known.value() - kept.value() : 0; }
};

/// Locks the directory (a running server makes it fail with `locked`), does what a start does short of changing
/// anything, compares the state that each batch tells with the one that the records make, and on a refusal looks for what a repair would lose. `floor`: as LogSettings::floor.
/// Errors: locked, no log there, or a file that cannot be read at all.
Result<LogVerdict> verify_log(FileSystem& files, Clock& clock, Random& random, const std::string& directory,
                              Lsn floor = Lsn());

/// The verdict as text, several lines, or as one JSON object.
void print_verdict(const LogVerdict& verdict, bool json, const LineSink& out);

}  // namespace holdfast
