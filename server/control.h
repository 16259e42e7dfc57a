// What commands ask of whoever keeps the connections: about other connections, or to wait. An order is a value and its
// reply comes later, so that it can travel to other threads and be carried out in small parts. The thread of the
// connections.
#pragma once

#include "server/client_filter.h"
#include "server/message.h"
#include "server/stream_message.h"

#include <atomic>

namespace holdfast {

/// Something to do to all connections that fit; answered when all were looked at.
struct ConnectionOrder {
  enum class Kind : std::uint8_t {
    list,         // a line for each
    kill,         // each closes behind the replies of what it executed; answers how many
    kill_one,     // likewise, one; answers OK or that there is none
    unblock,      // each that waits is answered as if its time were over; answers how many
    unblock_fail  // likewise, with an error
  };
  Kind kind = Kind::list;
  ClientFilter filter;
  ReplyAddress address;
  RespVersion version = RespVersion::resp2;
};

/// WAIT, WAITAOF or SAVE, which answers when what it asks for is so, or when its time is over.
struct ClientWait {
  enum class Kind : std::uint8_t { replicas, log, save };
  Kind kind = Kind::replicas;
  ReplyAddress address;
  RespVersion version = RespVersion::resp2;
  bool local = false;     // asks for the log on this machine
  bool replicas = false;  // asks for replicas, of which there are none
  Millis timeout{};
};

class Control {
 public:
  /// `monitors`: how many connections monitor, on all threads.
  explicit Control(const std::atomic<std::uint32_t>& monitors) : monitors_(monitors) {}
  virtual ~Control() = default;
  /// Both are answered by Session::answer, not before the next turn's replies.
  virtual void order(ConnectionOrder order) = 0;
  virtual void wait(const ClientWait& wait) = 0;
  /// Asks the log for something; answered as these are, once all before it is answered.
  virtual void ask_log(StreamRequest request) = 0;
  /// MONITOR begins or ends on a connection.
  virtual void monitor(ConnectionKey connection, bool on) = 0;
  /// Whether one more may.
  virtual bool may_monitor() const = 0;
  /// A whole line for every monitor, on all threads.
  virtual void tell_monitors(std::string_view line) = 0;
  /// SHUTDOWN: as SIGTERM does.
  virtual void shut_down() = 0;
  /// Whether any connection monitors: the only cost of MONITOR when there is none.
  bool monitored() const noexcept { return monitors_.load(std::memory_order_relaxed) > 0; }

 private:
  const std::atomic<std::uint32_t>& monitors_;
};

}  // namespace holdfast
