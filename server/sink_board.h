// What shards know of the sinks: how far each has come, and why no new reservation may be taken on their account. A value
// that does not change once it is made: whoever reads the log makes a new one and gives it to every thread.
#pragma once

#include "storage/log_status.h"
#include "storage/sinks_format.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast {

/// How far a change is with one sink.
enum class SinkProgress : std::uint8_t { pending, acknowledged, parked };

struct SinkBoard {
  struct Entry {
    std::string name;
    Lsn acked;
    Lsn ahead;
    WallTime acked_at{};
    std::uint64_t lag_bytes = 0;  // about, as of when the board was made
    std::shared_ptr<const Parked> parked;
  };

  std::vector<Entry> sinks;          // in the order of their names
  std::string overloaded;            // why RESERVE takes nothing new: too much of the log is kept; empty: it does
  std::string fenced;                // why it does not at all: a sink has what this log has not
  std::string holder;                // who keeps most of the log, and since where: a sink, or the snapshots
  std::uint64_t held_bytes = 0;      // of the log's files, that stay for it
  std::uint64_t held_bytes_max = 0;  // --log-max-bytes

  const Entry* find(std::string_view name) const noexcept {
    const auto found = std::find_if(sinks.begin(), sinks.end(), [&](const Entry& sink) { return sink.name == name; });
    return found == sinks.end() ? nullptr : &*found;
  }
  /// The one that has acknowledged least; nothing without any.
  const Entry* slowest() const noexcept {
    const auto found =
        std::min_element(sinks.begin(), sinks.end(), [](const Entry& a, const Entry& b) { return a.acked < b.acked; });
    return found == sinks.end() ? nullptr : &*found;
  }
  std::uint64_t parked() const noexcept {
    std::uint64_t count = 0;
    for (const Entry& sink : sinks) count += sink.parked->size();
    return count;
  }
};

/// Of a change with this LSN, durable, of what `key` names.
inline SinkProgress progress_of(const SinkBoard::Entry& sink, Lsn lsn, const ParkedKey& key) {
  if (!sink.parked->empty() && sink.parked->contains(key)) return SinkProgress::parked;
  return lsn <= sink.acked ? SinkProgress::acknowledged : SinkProgress::pending;
}

/// Why new reservations are refused; empty: they are not.
inline std::string_view refusal_of(SpaceState space, const SinkBoard& sinks) noexcept {
  if (!sinks.fenced.empty()) return sinks.fenced;
  return space == SpaceState::ok ? std::string_view(sinks.overloaded) : space_text(space);
}

}  // namespace holdfast
