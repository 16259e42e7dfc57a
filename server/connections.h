// The sockets of one thread with their sessions: accepts, reads, writes, closes. A shell: what bytes mean is the
// session's business. The thread's.
#pragma once

#include "server/address_counts.h"
#include "server/deadlines.h"
#include "server/poller.h"
#include "server/session.h"

#include <algorithm>
#include <memory>
#include <vector>

namespace holdfast {

class Connections {
 public:
  Connections(Poller& poller, SessionHost& host);
  ~Connections();

  /// Takes over a listening socket.
  void listen(FileDescriptor listener);

  // Once a turn, in this order. `now` is the hold clock or any other that does not stop.

  /// What the poller said about the listener or a connection, by its tag.
  void on_ready(std::uint64_t tag, std::uint32_t events);
  /// Goes on with input that is here already.
  void resume();
  /// The reply to a forwarded command. A connection that is gone is skipped.
  void answer(ReplyAddress address, std::string_view bytes);
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
  bool has_work() const { return !ready_.empty() && host_.has_credit(); }
  std::uint32_t open_count() const noexcept { return open_count_; }
  /// Bytes that connections hold for requests and replies.
  std::size_t held_bytes() const noexcept { return held_bytes_; }
  /// The session of a connection, nothing when it is gone.
  const Session* session(ConnectionKey key) noexcept {
    const Connection* connection = find(key);
    return connection == nullptr ? nullptr : &connection->session;
  }

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
    bool held_up = false;        // stopped in the middle of its input
    bool sends_no_more = false;  // the peer
    ConnectionTurn turn;         // what it did since the last flush
    Deadlines deadlines;
    std::size_t held_bytes = 0;  // by the last flush
    // What of it stands in the thread's statistics.
    std::size_t input_counted = 0;
    std::size_t output_counted = 0;
  };

  static std::uint64_t tag(ConnectionKey key) noexcept { return std::uint64_t{key.generation} << 32 | key.index; }
  Connection* find(ConnectionKey key) noexcept;
  void accept_some();
  bool turn_away();
  void pause();
  void end_pause();
  void admit(FileDescriptor socket);
  void reject(const FileDescriptor& socket, std::string_view why);
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
  CloseReason reason_of(const Connection& connection) const noexcept;

  Poller& poller_;
  SessionHost& host_;
  ThreadStats& stats_;
  FileDescriptor listener_;
  FileDescriptor spare_;    // given up to answer one more peer when there are no descriptors left
  bool listening_ = false;  // the poller watches the listener
  bool draining_ = false;
  std::vector<std::unique_ptr<Connection>> table_;  // by index
  std::vector<std::uint32_t> generations_;
  std::vector<std::uint32_t> free_;
  std::vector<ConnectionKey> ready_;  // have input and may go on
  std::vector<ConnectionKey> dirty_;  // may have something to write or be finished
  std::vector<ConnectionKey> scratch_;
  std::uint32_t open_count_ = 0;
  AddressCounts addresses_;
  std::size_t held_bytes_ = 0;
  Millis attention_ = kIdleSleep;
  std::uint64_t evicted_told_ = 0;  // of those closed for their memory, to the operator
  std::string evicted_largest_;     // the last one, for the operator
  std::uint64_t next_id_ = 1;
  std::unique_ptr<char[]> buffer_;
};

}  // namespace holdfast
