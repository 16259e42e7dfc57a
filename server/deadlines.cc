#include "server/deadlines.h"

#include "server/options.h"

#include <algorithm>

namespace holdfast {
namespace {

/// Keeps the beginning of what goes on, forgets it when it does not.
void keep_beginning(Millis& since, bool goes_on, bool anew, Millis now) noexcept {
  if (!goes_on) {
    since = Millis::max();
  } else if (anew || since == Millis::max()) {
    since = now;
  }
}

Millis after(Millis since, Millis time) noexcept { return since == Millis::max() ? since : since + time; }

}  // namespace

void Deadlines::note(const ConnectionTurn& turn, Millis now) noexcept {
  keep_beginning(strange_since_, !turn.authenticated, false, now);
  keep_beginning(command_since_, turn.in_command, turn.ended_command, now);
  keep_beginning(output_since_, turn.output_waits, turn.output_moved, now);
  if (turn.heard || turn.output_moved || active_at_ == kNone) active_at_ = now;
  output_full_ = turn.output_full;
  may_be_silent_ = turn.answering || turn.listens;
}

Millis Deadlines::due(const Options& options) const noexcept {
  Millis first = std::min(after(strange_since_, options.auth_timeout), after(command_since_, options.command_timeout));
  if (output_full_) first = std::min(first, after(output_since_, options.write_timeout));
  if (options.timeout == 0 || may_be_silent_) return first;
  return std::min(first, after(active_at_, std::chrono::seconds(options.timeout)));
}

}  // namespace holdfast
