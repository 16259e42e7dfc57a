// The log as a stream: answers LOG READ, LOG SNAPSHOT, XREAD, XRANGE, XLEN and XINFO STREAM, and keeps those that wait for what is not
// durable yet; and keeps the sinks, whose acknowledgements come the same way. Requests and time come in, replies go out. Deterministic over FileSystem; one thread, which is no shard's
// and not the log's (log_stream_thread.h).
//
//   ask() -> ready -> run_one() -> reply                     see(durable): those whose LSN or time has come are ready
//                        |  +----> waiting for an LSN --+
//                        +- counts on at its next turn  |
//                ^-------------------------------------<+
#pragma once

#include "server/log_view.h"
#include "server/sink_board.h"
#include "server/snapshot_files.h"
#include "server/stream_message.h"
#include "server/stream_requests.h"
#include "storage/log_identity.h"
#include "storage/sink_registry.h"

#include <boost/unordered/unordered_flat_map.hpp>
#include <deque>
#include <map>
#include <set>

namespace holdfast {

class LogStream {
 public:
  struct Settings {
    LogIdentity log;
    std::uint64_t log_bytes_max = 0;  // --log-max-bytes
  };
  /// What the two snapshots that are kept have; zero for one that is not there.
  struct Covered {
    Lsn older;
    Lsn newest;
  };
  /// What of the rest of the world matters now.
  struct Moment {
    Lsn durable;  // how far the log is
    Millis boot{};
    WallTime wall{};
    std::uint64_t live_bytes = 0;    // used of the live segment
    std::optional<Covered> covered;  // nothing: that is not known
  };

  LogStream(const Settings& settings, LogView view, SnapshotFiles snapshots, SinkRegistry sinks, const Moment& now);

  /// Takes a request; a connection has one at a time.
  void ask(StreamRequest request);
  /// What becomes of the request of a connection, if it has one that waits.
  void end(ThreadIndex thread, ConnectionKey connection, WaitEnd how);
  /// How things stand. REQUIRES: neither the log nor the boot time goes back.
  void see(const Moment& now);
  /// From here on nothing waits: what does is answered as if its time were over.
  void stop();

  /// Works on one request; false when there is none to work on.
  bool run_one();
  /// Replies that were made since the last call.
  std::vector<StreamReply> take_replies() { return std::exchange(replies_, {}); }

  bool idle() const noexcept { return ready_.empty(); }
  /// The lowest LSN that somebody waits for, and when a wait is over; the maximum for none.
  Lsn awaited() const noexcept { return by_lsn_.empty() ? Lsn(UINT64_MAX) : by_lsn_.begin()->first; }
  Millis due() const noexcept;
  std::size_t waiting() const noexcept { return waiting_.size(); }
  /// Takes note of the items in what is durable, and of how far behind the sinks and the snapshots are.
  void look();

  /// What shards are to know, when that changed since the last call; before the replies that were made after it.
  std::shared_ptr<const SinkBoard> take_board() {
    return std::exchange(board_is_new_, false) ? board_ : std::shared_ptr<const SinkBoard>();
  }
  const SinkBoard& board() const noexcept { return *board_; }
  /// Why the sinks could not be kept; empty: they could.
  std::string_view sinks_failure() const noexcept { return sinks_.failure(); }
  /// What must stay of the log: everything above. For sinks, nothing when there is none; and for readers.
  std::optional<Lsn> sinks_hold() const noexcept;
  Lsn readers_hold();
  /// The lowest snapshot that must stay; nothing: none.
  std::optional<Lsn> snapshot_hold() { return snapshots_.hold(now_); }

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
  Answer log_snapshot(Job& job, std::string& out);
  Answer log_ack(Job& job, std::string& out);
  Answer log_sinks(Job& job, std::string& out);
  void write_sinks(Lsn oldest, RespVersion version, std::string& out);
  void make_board();
  std::chrono::nanoseconds boot() const noexcept { return now_; }
  Result<void> write_info(const XinfoRequest& request, std::uint64_t length, RespVersion version, std::string& out);
  /// The job is to wait for an LSN; false when it may not, or not any more.
  bool wait(Job& job, Lsn lsn, std::optional<Millis> block);
  void park(std::unique_ptr<Job> job);
  std::unique_ptr<Job> unpark(std::uint64_t arrival);
  void answer(const Job& job, std::string bytes);

  Settings settings_;
  const LogIdentity& log_ = settings_.log;
  LogView view_;
  SnapshotFiles snapshots_;
  SinkRegistry sinks_;
  std::shared_ptr<const SinkBoard> board_;
  bool board_is_new_ = false;
  Lsn durable_;
  Millis now_{};
  WallTime wall_{};
  std::uint64_t live_bytes_ = 0;
  std::optional<Covered> covered_;
  bool stopped_ = false;
  std::uint64_t arrivals_ = 0;
  std::deque<std::unique_ptr<Job>> ready_;
  std::map<std::uint64_t, std::unique_ptr<Job>> waiting_;  // by arrival
  std::set<std::pair<Lsn, std::uint64_t>> by_lsn_;
  std::set<std::pair<Millis, std::uint64_t>> by_time_;
  boost::unordered_flat_map<Key, std::uint64_t> by_connection_;
  std::vector<StreamReply> replies_;
};

}  // namespace holdfast
