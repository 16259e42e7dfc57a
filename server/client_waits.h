// The WAIT, WAITAOF and SAVE that wait, of one thread's connections. Decides by a time and by where the log stands, both
// given. No I/O, no clock.
#pragma once

#include "server/control.h"

#include <vector>

namespace holdfast {

/// Where the log stands, and whether everything that was answered is on the disk anyway (--fsync always).
struct LogPosition {
  Lsn written;
  Lsn durable;
  bool answers_are_durable = true;
};

class ClientWaits {
 public:
  struct Answer {
    ReplyAddress address;
    std::string bytes;
  };

  void add(const ClientWait& wait, Millis now);
  bool empty() const noexcept { return waits_.empty(); }
  std::size_t size() const noexcept { return waits_.size(); }
  bool contains(ConnectionKey connection) const noexcept;
  /// When look() has something to do next, at the latest.
  Millis next_due() const noexcept { return due_; }

  /// Answers what is over. `is_first(connection)`: whether everything the connection asked before its wait is answered;
  /// from then on WAITAOF knows what it waits for.
  template <class IsFirst>
  std::vector<Answer> look(Millis now, const LogPosition& log, const IsFirst& is_first) {
    for (Waiting& waiting : waits_) {
      if (!waiting.begun && is_first(waiting.wait.address.connection)) begin(waiting, log);
    }
    return take_over(now, log);
  }
  /// Answers the wait of a connection as things stand, or with an error; nothing when it has none.
  std::vector<Answer> end(ConnectionKey connection, const LogPosition& log, bool with_error);
  /// Answers all as things stand.
  std::vector<Answer> end_all(const LogPosition& log);
  /// The connection is gone.
  void forget(ConnectionKey connection);

 private:
  struct Waiting {
    ClientWait wait;
    Millis until;
    bool begun = false;
    Lsn target;  // of the log, once it has begun
  };

  static void begin(Waiting& waiting, const LogPosition& log);
  static bool has_local(const Waiting& waiting, const LogPosition& log) noexcept;
  static Answer answer(const Waiting& waiting, const LogPosition& log);
  std::vector<Answer> take_over(Millis now, const LogPosition& log);

  std::vector<Waiting> waits_;
  Millis due_ = Millis::max();
};

/// What a wait that was ended by CLIENT UNBLOCK ERROR answers.
inline constexpr std::string_view kUnblocked = "-UNBLOCKED client unblocked via CLIENT UNBLOCK\r\n";

}  // namespace holdfast
