// By when a connection has to have done what it began: authenticate, finish a command, take its replies, say anything
// at all. Told once a turn what the connection did; reads no clock. The connection's thread.
//
//   connected ........ AUTH            auth-timeout      while it has not authenticated
//   first byte ....... last byte       command-timeout   of one command; further bytes do not extend it
//   reply refused .... reply taken     write-timeout     while as much waits as may, or the connection is to close
//   last byte ........ next byte       timeout           0: it may be silent for ever, as who only listens always may
#pragma once

#include "protocol/types.h"

namespace holdfast {

struct Options;

/// What a connection did in a turn and how it stands at its end.
struct ConnectionTurn {
  bool authenticated = false;
  bool heard = false;          // bytes came
  bool in_command = false;     // the beginning of a command is here and nothing but its rest is waited for
  bool ended_command = false;  // something before that beginning was executed in this turn
  bool answering = false;      // a command is being executed
  bool listens = false;        // it is subscribed to something or monitors, so silence is what is expected of it
  bool output_waits = false;   // the socket did not take all
  bool output_moved = false;   // but some
  bool output_full = false;    // as much waits as may, or the connection closes behind what waits
};

class Deadlines {
 public:
  /// Notes a turn. REQUIRES: `now` never falls.
  void note(const ConnectionTurn& turn, Millis now) noexcept;
  /// When the connection is to be closed unless it does something before; Millis::max(): never.
  Millis due(const Options& options) const noexcept;

 private:
  static constexpr Millis kNone = Millis::max();

  Millis strange_since_ = kNone;
  Millis command_since_ = kNone;
  Millis output_since_ = kNone;
  Millis active_at_ = kNone;
  bool output_full_ = false;
  bool may_be_silent_ = false;
};

}  // namespace holdfast
