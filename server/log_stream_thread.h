// The thread that reads the log for others, a thin shell around LogStream: requests from the threads of the connections
// come in under a mutex, replies go back into a mailbox for each of them. The log thread leaves its batches and never
// waits; it wakes this one only when somebody waits for what has become durable, or when much has come unread.
#pragma once

#include "server/hub.h"
#include "server/log_stream.h"
#include "storage/log_feed.h"
#include "storage/log_retention.h"
#include "storage/log_thread.h"

#include <optional>
#include <thread>

namespace holdfast {

class LogStreamThread final : public LogFeed {
 public:
  /// Hub, files and clock outlive this.
  LogStreamThread(Hub& hub, FileSystem& files, Clock& clock);
  ~LogStreamThread() override;

  /// The log is replayed: `items` knows the items of all its records, it is durable up to `durable`. `log` outlives the
  /// thread. Called once, before anything is asked.
  void start(const Options& options, LogThread& log, ItemDirectory items, SinkRegistry sinks, Lsn durable);
  /// Ends the thread, which uses the log: before the log goes. Nothing is asked any more.
  void stop();

  // The threads of the connections.

  void ask(StreamRequest request);
  void end(ThreadIndex thread, ConnectionKey connection, WaitEnd how);
  /// From here on no request waits.
  void end_all();
  /// For one of these threads; the board comes before the replies.
  struct Mail {
    std::shared_ptr<const SinkBoard> board;  // nothing: as before
    std::vector<StreamReply> replies;
  };
  bool has_mail(ThreadIndex thread) const noexcept { return boxes_[thread.value()]->full.load(); }
  Mail take_mail(ThreadIndex thread);

  // Any thread.

  /// As of the last change; nothing before start().
  std::shared_ptr<const SinkBoard> board() const;
  /// Everything of the log above these has to stay: for sinks, nothing when there is none, and for readers, this thread
  /// among them, which is then told to look at what it has not seen.
  std::optional<Lsn> sinks_hold() const noexcept { return hold_of(sinks_hold_); }
  std::optional<Lsn> readers_hold() noexcept;
  /// The lowest snapshot that somebody reads, which has to stay; nothing: none.
  std::optional<Lsn> snapshot_hold() const noexcept { return hold_of(snapshot_hold_); }

  /// What the two snapshots have: everything above the older has to stay.
  void set_covered(const LogStream::Covered& covered) noexcept;

  // LogFeed.

  void on_written(std::span<const std::byte> batch, const BatchHeader& header) override;
  void on_durable(Lsn lsn) override;

 private:
  struct Ending {
    ThreadIndex thread;
    ConnectionKey connection;
    WaitEnd how = WaitEnd::forget;
  };
  using Order = std::variant<StreamRequest, Ending>;
  /// Mail for one thread.
  struct Box {
    std::mutex mutex;
    Mail mail;  // guarded by mutex
    std::atomic<bool> full{false};
  };

  void run();
  void take_orders();
  void work();
  void look();
  void send_mail();
  void send_board(const std::shared_ptr<const SinkBoard>& board);
  void tell_alarms();
  void tell_holds();
  void sleep();
  bool has_work() const;
  LogStream::Moment moment() const;

  Hub& hub_;
  FileSystem& files_;
  Clock& clock_;
  RecentBatches recent_{kRecentBytesMax};
  Poller poller_;
  Waker waker_;
  std::vector<std::unique_ptr<Box>> boxes_;  // by thread
  std::atomic<std::size_t> reply_bytes_{0};  // in the boxes

  std::mutex mutex_;
  std::vector<Order> orders_;  // guarded by mutex_
  std::atomic<bool> ordered_{false};
  std::atomic<bool> ending_{false};    // nothing waits any more
  std::atomic<bool> looking_{false};   // it is to look at what was written
  std::atomic<bool> stopping_{false};  // the thread ends

  // Between this thread and the log's.
  std::atomic<std::uint64_t> durable_{0};
  std::atomic<std::uint64_t> written_bytes_{0};
  std::atomic<std::uint64_t> live_segment_{0};
  std::atomic<std::uint64_t> live_bytes_{0};  // used of it
  std::atomic<std::uint64_t> wake_at_lsn_{UINT64_MAX};
  std::atomic<std::uint64_t> wake_at_bytes_{UINT64_MAX};

  // What must stay; kNoHold: nothing on that account.
  static constexpr std::uint64_t kNoHold = UINT64_MAX;
  static std::optional<Lsn> hold_of(const std::atomic<std::uint64_t>& hold) noexcept {
    const std::uint64_t lsn = hold.load();
    return lsn == kNoHold ? std::nullopt : std::optional<Lsn>(Lsn(lsn));
  }
  std::atomic<std::uint64_t> sinks_hold_{kNoHold};
  std::atomic<std::uint64_t> readers_hold_{0};
  std::atomic<std::uint64_t> snapshot_hold_{kNoHold};
  std::atomic<std::uint64_t> older_snapshot_{kNoHold};  // kNoHold: it was not told yet
  std::atomic<std::uint64_t> newest_snapshot_{0};
  mutable std::mutex board_mutex_;
  std::shared_ptr<const SinkBoard> board_;  // guarded by board_mutex_
  /// Boards that other threads may still look at: this one lets them go, since what is parked may be much.
  std::vector<std::shared_ptr<const SinkBoard>> boards_;

  LogThread* log_ = nullptr;
  std::uint64_t look_every_bytes_ = kLearnEveryBytes;
  bool sinks_failed_ = false;
  RetentionLevel told_ = RetentionLevel::ok;
  std::optional<LogStream> stream_;
  std::thread thread_;
};

}  // namespace holdfast
