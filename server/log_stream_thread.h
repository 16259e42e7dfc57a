// The thread that reads the log for others, a thin shell around LogStream: requests from the threads of the connections
// come in under a mutex, replies go back into a mailbox for each of them. The log thread leaves its batches and never
// waits; it wakes this one only when somebody waits for what has become durable, or when much has come unread.
#pragma once

#include "server/hub.h"
#include "server/log_stream.h"
#include "storage/log_feed.h"

#include <optional>
#include <thread>

namespace holdfast {

class LogStreamThread final : public LogFeed {
 public:
  /// Hub, files and clock outlive this.
  LogStreamThread(Hub& hub, FileSystem& files, Clock& clock);
  ~LogStreamThread() override;

  /// The log is replayed: `items` knows the items of all its records, it is durable up to `durable`. Called once, before
  /// anything is asked.
  void start(const std::string& directory, const LogIdentity& log, ItemDirectory items, Lsn durable);

  // The threads of the connections.

  void ask(StreamRequest request);
  void end(ThreadIndex thread, ConnectionKey connection, WaitEnd how);
  /// From here on no request waits.
  void end_all();
  /// Whether take_replies() has something for this thread.
  bool has_replies(ThreadIndex thread) const noexcept { return boxes_[thread.value()]->full.load(); }
  std::vector<StreamReply> take_replies(ThreadIndex thread);

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
  /// Replies for one thread.
  struct Box {
    std::mutex mutex;
    std::vector<StreamReply> replies;  // guarded by mutex
    std::atomic<bool> full{false};
  };

  void run();
  void take_orders();
  void work();
  void send_replies();
  void sleep();
  bool has_work() const;
  Millis now() const { return std::chrono::duration_cast<Millis>(clock_.boot()); }

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
  std::atomic<bool> stopping_{false};  // the thread ends

  // Between this thread and the log's.
  std::atomic<std::uint64_t> durable_{0};
  std::atomic<std::uint64_t> written_bytes_{0};
  std::atomic<std::uint64_t> wake_at_lsn_{UINT64_MAX};
  std::atomic<std::uint64_t> wake_at_bytes_{UINT64_MAX};

  std::optional<LogStream> stream_;
  std::thread thread_;
};

}  // namespace holdfast
