// The sockets of one thread with their sessions: reads, writes, closes, and on the thread with the listener accepts and
// deals out. A shell: what bytes mean is the session's business. The thread's.
#pragma once

#include "server/client_waits.h"
#include "server/deadlines.h"
#include "server/post.h"
#include "server/session.h"

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <vector>

namespace holdfast {

class Connections final : public Control {
 public:
  Connections(Poller& poller, SessionHost& host, Hub& hub, Post& post);
  ~Connections() override;

  /// Takes over a listening socket.
  void listen(FileDescriptor listener);

  // Once a turn, in this order. `now` is the hold clock or any other that does not stop.

  /// What the poller said about the listener or a connection, by its tag.
  void on_ready(std::uint64_t tag, std::uint32_t events);
  /// Goes on with input that is here already.
  void resume();
  /// The reply to a deferred command, or a shard's to a forwarded one. A connection that is gone is skipped.
  void answer(ReplyAddress address, std::string_view bytes);
  void answer_from(ShardIndex shard, ReplyAddress address, std::string_view bytes);
  /// A message for subscribers of this thread.
  void deliver(const Delivery& delivery);
  /// What other threads ask of this one.
  void adopt(Newcomer newcomer);
  void take(AskedOrder asked);
  void take(OrderPart part);
  void show(const MonitorLine& line);
  /// Carries out a part of what CLIENT LIST, KILL and UNBLOCK asked for, and answers WAIT and WAITAOF.
  void obey(Millis now, WallTime wall, const LogPosition& log);
  /// One write for each connection with something to write; closes those that are finished, and the largest while all
  /// together hold more than they may.
  void flush(Millis now);
  /// Closes those whose deadline is over; accepts again after a pause. Every attention() at least.
  void keep_time(Millis now);
  Millis attention() const noexcept {
    return listener_.is_open() && !listening_ ? std::min(kAcceptPause, attention_) : attention_;
  }

  /// Executes nothing more; each connection closes when its replies are sent. Accepts nothing more.
  void drain();
  /// Closes all at once.
  void close_all();

  /// Whether input waits that could be executed now.
  bool has_work() const { return !orders_.empty() || (host_.has_credit() && (!ready_.empty() || notices_wanted())); }
  /// When obey() has something to do by the clock, at the latest.
  Millis next_wait() const noexcept { return waits_.next_due(); }
  std::size_t waits() const noexcept { return waits_.size(); }
  std::uint32_t open_count() const noexcept { return open_count_; }
  /// The session of a connection, nothing when it is gone.
  const Session* session(ConnectionKey key) noexcept {
    const Connection* connection = find(key);
    return connection == nullptr ? nullptr : &connection->session;
  }

  // Control.

  void order(ConnectionOrder order) override;
  void wait(const ClientWait& wait) override { new_waits_.push_back(wait); }
  void ask_log(StreamRequest request) override;
  void monitor(ConnectionKey connection, bool on) override;
  bool may_monitor() const override { return hub_.monitors.load() < kMonitorsMax; }
  void tell_monitors(std::string_view line) override;
  void shut_down() override { host_.shut_down(); }

  /// The listener's tag; connections' tags are their keys.
  static constexpr std::uint64_t kListenerTag = UINT64_MAX;
  /// Tags from here on are not the table's, except the listener's.
  static constexpr std::uint64_t kForeignTags = UINT64_MAX - 16;

 private:
  struct Connection {
    Connection(ConnectionKey key, std::uint64_t id, Session::Peer peer, WallTime began, SessionHost& host)
        : session(key, id, std::move(peer), began, host) {}
    FileDescriptor socket;
    Session session;
    std::string input;  // what is not executed yet
    std::size_t input_begin = 0;
    std::uint32_t events = 0;  // that the poller watches
    bool in_ready = false;
    bool in_dirty = false;
    bool in_noticed = false;
    bool held_up = false;        // stopped in the middle of its input
    bool sends_no_more = false;  // the peer
    ConnectionTurn turn;         // what it did since the last flush
    Deadlines deadlines;
    std::size_t held_bytes = 0;  // by the last flush
    Millis active_at{};
    int unsent_bytes = 0;    // while it lingers: what its peer had not taken at the last look
    Millis lingers_since{};  // 0: it does not; else everything is sent and its input is thrown away
    // What of it stands in the thread's statistics.
    std::size_t input_counted = 0;
    std::size_t output_counted = 0;
  };
  /// An order that was carried out on this thread's connections up to a place of the table.
  struct OpenOrder {
    AskedOrder asked;
    std::size_t next = 0;
    OrderPart part;
  };
  /// An order that a connection of this thread gave, and what it came to so far.
  struct GivenOrder {
    ConnectionOrder order;
    std::size_t missing = 0;  // threads that have not answered
    OrderPart sum;
  };

  static std::uint64_t tag(ConnectionKey key) noexcept { return std::uint64_t{key.generation} << 32 | key.index; }
  Connection* find(ConnectionKey key) noexcept;
  const Connection* find(ConnectionKey key) const noexcept;
  void ask_notices();
  bool notices_wanted() const noexcept;
  void accept_some();
  bool turn_away();
  void pause();
  void end_pause();
  void admit(FileDescriptor socket);
  void reject(const FileDescriptor& socket, std::string_view why);
  bool holds_too_much() const noexcept;
  void read(Connection& connection);
  void execute(Connection& connection, std::string_view fresh);
  void hold_up(Connection& connection);
  void write(Connection& connection, Millis now);
  void note_turn(Connection& connection, Millis now);
  void evict();
  void watch(Connection& connection, std::uint32_t events);
  void mark_dirty(Connection& connection);
  void close(Connection& connection, CloseReason reason);
  void count_buffers(Connection& connection, std::size_t input, std::size_t output) noexcept;
  void finish(Connection& connection, Millis now);
  void throw_input_away(Connection& connection);
  Millis lingers_until(const Connection& connection) const;
  bool lingers_on(Connection& connection, Millis now);
  ClientFacts facts(const Connection& connection, Millis now, WallTime wall) const;
  void visit(Connection& connection, OpenOrder& open, const ClientFacts& facts, const LogPosition& log);
  bool unblock(Connection& connection, const LogPosition& log, bool with_error);
  void kill(Connection& connection, const LogPosition& log);
  void answer_order(const GivenOrder& given);
  void answer_all(const std::vector<ClientWaits::Answer>& answers);
  void look_at_waits(Millis now, const LogPosition& log);
  void send_log_requests();
  void end_log_request(const Connection& connection, WaitEnd how);

  Poller& poller_;
  SessionHost& host_;
  Hub& hub_;
  Post& post_;
  ThreadStats& stats_;
  FileDescriptor listener_;
  FileDescriptor spare_;    // given up to answer one more peer when there are no descriptors left
  bool listening_ = false;  // the poller watches the listener
  bool draining_ = false;
  std::vector<std::unique_ptr<Connection>> table_;  // by index
  std::vector<std::uint32_t> generations_;
  std::vector<std::uint32_t> free_;
  std::vector<ConnectionKey> ready_;    // have input and may go on
  std::vector<ConnectionKey> dirty_;    // may have something to write or be finished
  std::vector<ConnectionKey> noticed_;  // read the first notices of holdfast:items
  std::vector<ConnectionKey> scratch_;
  std::uint32_t open_count_ = 0;
  std::size_t held_bytes_ = 0;
  Millis attention_ = kIdleSleep;
  std::uint64_t evicted_told_ = 0;  // of those closed for their memory, to the operator
  std::string evicted_largest_;     // the last one, for the operator
  std::size_t next_home_ = 0;       // thread of the next connection that is accepted
  std::deque<OpenOrder> orders_;
  std::map<std::uint64_t, GivenOrder> given_;  // by ticket
  std::uint64_t next_ticket_ = 0;
  std::vector<ConnectionKey> monitors_;
  std::vector<ClientWait> new_waits_;  // of this turn
  ClientWaits waits_;
  std::vector<StreamRequest> log_requests_;  // that wait until all before them is answered
  std::size_t log_asked_ = 0;                // connections whose command about the log has no answer
  std::unique_ptr<char[]> buffer_;
};

}  // namespace holdfast
