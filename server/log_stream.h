// The log as a stream: answers LOG READ, XREAD, XRANGE, XLEN and XINFO STREAM, and keeps those that wait for what is not
// durable yet. Requests and time come in, replies go out. Deterministic over FileSystem; one thread, which is no shard's
// and not the log's (log_stream_thread.h).
//
//   ask() -> ready -> run_one() -> reply                     see(durable): those whose LSN or time has come are ready
//                        |  +----> waiting for an LSN --+
//                        +- counts on at its next turn  |
//                ^-------------------------------------<+
#pragma once

#include "server/log_view.h"
#include "server/stream_message.h"
#include "server/stream_requests.h"
#include "storage/log_identity.h"

#include <boost/unordered/unordered_flat_map.hpp>
#include <deque>
#include <map>
#include <set>

namespace holdfast {

class LogStream {
 public:
  /// `durable`: how far the log is durable now.
  LogStream(const LogIdentity& log, LogView view, Lsn durable);

  /// Takes a request; a connection has one at a time.
  void ask(StreamRequest request);
  /// What becomes of the request of a connection, if it has one that waits.
  void end(ThreadIndex thread, ConnectionKey connection, WaitEnd how);
  /// The log is durable up to here, and it is so late. REQUIRES: neither goes back.
  void see(Lsn durable, Millis now);
  /// From here on nothing waits: what does is answered as if its time were over.
  void stop();

  /// Works on one request; false when there is none to work on.
  bool run_one();
  /// Replies that were made since the last call.
  std::vector<StreamReply> take_replies() { return std::exchange(replies_, {}); }

  bool idle() const noexcept { return ready_.empty(); }
  /// The lowest LSN that somebody waits for, and when a wait is over; the maximum for none.
  Lsn awaited() const noexcept { return by_lsn_.empty() ? Lsn(UINT64_MAX) : by_lsn_.begin()->first; }
  Millis due() const noexcept { return by_time_.empty() ? Millis::max() : by_time_.begin()->first; }
  std::size_t waiting() const noexcept { return waiting_.size(); }
  /// Takes note of the items in what is durable.
  void learn();

 private:
  /// A request with what is known of it so far.
  struct Job {
    StreamRequest request;
    std::vector<std::string_view> words;  // of the request
    std::uint64_t arrival = 0;
    bool began = false;  // it was looked at once
    bool retried = false;
    bool over = false;  // it does not wait any more
    Millis until{};
    Lsn awaited;  // while it waits
    Lsn newest;   // XREAD: what $ meant
  };
  /// What working on a job came to; only an answer writes something.
  enum class Done : std::uint8_t { answered, waits, goes_on };
  using Answer = Result<Done>;
  using Key = std::uint64_t;  // thread, index of the connection

  static Key key_of(ThreadIndex thread, ConnectionKey connection) noexcept {
    return Key{thread.value()} << 32 | connection.index;
  }
  Answer work(Job& job, std::string& out);
  Answer log_read(Job& job, std::string& out);
  Answer xread(Job& job, std::string& out);
  Answer xrange(Job& job, std::string& out);
  Answer xlen(Job& job, std::string& out);
  Answer xinfo(Job& job, std::string& out);
  Result<void> write_info(const XinfoRequest& request, std::uint64_t length, RespVersion version, std::string& out);
  /// The job is to wait for an LSN; false when it may not, or not any more.
  bool wait(Job& job, Lsn lsn, std::optional<Millis> block);
  void park(std::unique_ptr<Job> job);
  std::unique_ptr<Job> unpark(std::uint64_t arrival);
  void answer(const Job& job, std::string bytes);

  LogIdentity log_;
  LogView view_;
  Lsn durable_;
  Millis now_{};
  bool stopped_ = false;
  std::uint64_t arrivals_ = 0;
  std::deque<std::unique_ptr<Job>> ready_;
  std::map<std::uint64_t, std::unique_ptr<Job>> waiting_;  // by arrival
  std::set<std::pair<Lsn, std::uint64_t>> by_lsn_;
  std::set<std::pair<Millis, std::uint64_t>> by_time_;
  boost::unordered_flat_map<Key, std::uint64_t> by_connection_;
  std::vector<StreamReply> replies_;
};

/// 32 hexadecimal digits.
std::string log_id_text(const LogId& id);

}  // namespace holdfast
