// What the threads of a server share: the mailboxes between each two of them, how they wake each other, and the few things
// that belong to all: who may connect, who listens to what, the options, the telemetry. Made before the threads, outlives
// them. Each part says which thread may use it.
//
//            to 0   to 1   to 2          a lane: commands ->, replies ->, messages ->
//   from 0   lane   lane   lane          from a thread to itself as well
//   from 1   lane   lane   lane
#pragma once

#include "server/admissions.h"
#include "server/mailbox.h"
#include "server/options.h"
#include "server/session.h"
#include "server/shared_telemetry.h"
#include "server/snapshot_board.h"
#include "server/thread_message.h"

#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace holdfast {

class LogStreamThread;

class Hub {
 public:
  struct Lane {
    explicit Lane(std::size_t blocks) : commands(blocks), replies(blocks), messages(blocks) {}
    Mailbox<CommandBlock> commands;
    Mailbox<ReplyBlock> replies;
    Mailbox<ThreadMessage> messages;
  };
  /// How the replay is getting on; written by who replays.
  struct Loading {
    std::atomic<std::uint64_t> bytes_done{0};
    std::atomic<std::uint64_t> bytes_total{0};
  };

  /// `run_id`: 40 hexadecimal digits, new at every start.
  Hub(std::size_t threads, const Options& options, std::string run_id);

  std::size_t threads() const noexcept { return wakers_.size(); }
  const std::string& run_id() const noexcept { return run_id_; }
  /// Each end of each mailbox belongs to one thread.
  Lane& lane(ThreadIndex from, ThreadIndex to) noexcept { return *lanes_[from.value() * threads() + to.value()]; }
  /// wake() by any thread, the rest by the one that sleeps.
  Waker& waker(ThreadIndex thread) noexcept { return *wakers_[thread.value()]; }
  void wake_all() noexcept;

  /// CONFIG SET; any thread, one after the other. Each thread takes them over in its next turn. When `change` fails, they
  /// stay as they were.
  Result<void> change_options(const OptionsChange& change);
  Options options() const;
  /// Changes with the options.
  std::uint64_t options_version() const noexcept { return options_version_.load(std::memory_order_acquire); }

  /// All threads have their shards: from now on items can be asked. Any thread.
  void serve() noexcept;
  bool serving() const noexcept { return serving_.load(std::memory_order_acquire); }

  /// The threads drain and end. Any thread.
  void stop() noexcept;
  bool stopping() const noexcept { return stop_.load(std::memory_order_acquire); }

  const Router router;
  Admissions admissions;
  PubSub pubsub;
  SharedTelemetry telemetry;
  Loading loading;
  SnapshotBoard snapshots;
  /// Threads that accept and execute nothing any more.
  std::atomic<std::size_t> draining{0};
  /// Reads the log for connections; set before the threads run, for as long as they do.
  LogStreamThread* log_stream = nullptr;
  /// Connections that monitor.
  std::atomic<std::uint32_t> monitors{0};

 private:
  std::string run_id_;
  std::vector<std::unique_ptr<Waker>> wakers_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  mutable std::mutex mutex_;  // of options_
  Options options_;
  std::atomic<std::uint64_t> options_version_{0};
  std::atomic<bool> serving_{false};
  std::atomic<bool> stop_{false};
};

}  // namespace holdfast
