// The thread of a shard: its connections, its items, and the messages between them. A turn is
//
//   sleep until something is ready -> read and parse, commands into blocks -> send blocks
//   -> sample the clock -> committed groups -> run blocks -> sweep -> hand a group to the log
//   -> deliver blocks of replies -> one write per connection
//
// It decides nothing: sessions, shard and gate do. Other threads talk to it through serve(), stop() and on_committed().
#pragma once

#include "server/connections.h"
#include "server/items_report.h"
#include "server/mailbox.h"
#include "server/options.h"
#include "server/rate_meter.h"
#include "server/shard.h"
#include "server/telemetry.h"
#include "storage/log_thread.h"

namespace holdfast {

class Loop final : public SessionHost {
 public:
  /// How the replay is getting on; written by who replays.
  struct Loading {
    std::atomic<std::uint64_t> bytes_done{0};
    std::atomic<std::uint64_t> bytes_total{0};
  };

  /// `say` takes lines for the operator. Users and clock outlive it.
  Loop(const Options& options, const Users& users, Clock& clock, std::string run_id,
       void (*say)(std::string_view line));
  ~Loop() override;

  // Before run().

  /// Lowers maxclients to what the system has descriptors for.
  void listen(FileDescriptor listener);
  /// Signals that end the process in order (signalfd).
  void watch_signals(FileDescriptor signals);

  /// Turns until stopped and drained. Until serve() items are -LOADING; a signal then ends the process at once.
  void run();

  // Any thread.

  /// The log is replayed: from now on items can be asked. Both outlive run().
  void serve(Shard& shard, LogThread& log, Millis recovery);
  /// Takes groups back from the log thread, which is the only caller.
  void on_committed(std::span<Group* const> groups);
  /// Drains: executes nothing more, answers what was executed, then run() returns.
  void stop();
  Loading& loading_progress() noexcept { return loading_; }
  const Loading& loading_progress() const noexcept { return loading_; }
  bool stopping() const noexcept { return stop_.load(); }
  /// Asks for the busiest items; take_items has them after one of the next turns. One thread.
  void ask_items() noexcept;
  std::unique_ptr<ItemsReport> take_items() noexcept { return items_.take(); }

  // SessionHost.

  const Options& options() const override { return options_; }
  void set_options(const Options& options) override;
  const Users& users() const override { return users_; }
  void notice(std::string_view line) override { notice_(line); }
  ServerStatus status() override;
  Telemetry& telemetry() override { return telemetry_; }
  const Telemetry& telemetry() const noexcept { return telemetry_; }
  ClockReading read_clock() override { return clock_.read(); }
  bool loading() const override { return shard_ == nullptr; }
  RequestBuffer& request_buffer() override { return *request_buffer_; }
  void forward(const StepCommand& command) override;
  bool has_credit() const override { return credits_ > 0; }
  PubSub& pubsub() override { return pubsub_; }
  void forget(ConnectionKey connection) override;
  void end_waits(ConnectionKey connection, WaitEnd how) override;
  Control& control() override { return connections_; }
  void shut_down() override;

 private:
  static constexpr std::uint64_t kWakerTag = Connections::kForeignTags + 1;
  static constexpr std::uint64_t kSignalTag = Connections::kForeignTags + 2;
  static constexpr ThreadIndex kThisThread{};

  void turn();
  void take_orders();
  Millis sleep_time();
  void dispatch(const epoll_event& event);
  void send_commands();
  void run_shard();
  std::size_t run_commands();
  void note_batch(const CommandBlock& block);
  void end_turn();
  void report_items();
  void publish_options() noexcept;
  void send_block();
  void keep_time(bool idle);
  void take_committed();
  void deliver_replies();
  void publish_notices();
  bool drained() const;
  LogPosition log_position();
  void look_at_rates();
  void put(const StepCommand& command);
  Millis boot_ms() const noexcept { return std::chrono::duration_cast<Millis>(reading_.boot); }

  Options options_;  // this thread's; CONFIG SET changes the live ones
  const Users& users_;
  Clock& clock_;
  std::string run_id_;
  const bool answers_are_durable_;  // --fsync always
  void (*notice_)(std::string_view line);
  Telemetry telemetry_{options_};
  Poller poller_;
  Waker waker_;
  FileDescriptor signals_;
  Connections connections_;
  PubSub pubsub_{connections_};
  std::unique_ptr<RequestBuffer> request_buffer_ = std::make_unique<RequestBuffer>();

  // Messages to the shard and back.
  Mailbox<CommandBlock> commands_;
  Mailbox<ReplyBlock> replies_;
  BlockPool<CommandBlock> pool_;
  std::unique_ptr<CommandBlock> filling_;
  std::uint32_t credits_ = kCreditsMax;

  // The shard, once the log is replayed.
  Shard* shard_ = nullptr;
  LogThread* log_ = nullptr;
  std::optional<RunningClocks> clocks_;
  Millis recovery_{};
  Now now_{};
  ClockReading reading_{};
  Millis swept_at_{};
  Millis housekept_at_{};
  HoldTime due_ = HoldTime::max();
  bool more_due_ = false;
  bool stopping_ = false;
  Millis stop_began_{};
  Millis started_{};
  RateMeter commands_rate_, input_rate_, output_rate_;
  Lsn seen_durable_;    // by the last turn
  WallTime last_save_;  // when that moved last

  // What other threads leave.
  struct Served {
    Shard* shard;
    LogThread* log;
    Millis recovery;
  };
  std::atomic<Served*> served_{nullptr};
  std::atomic<bool> stop_{false};
  boost::lockfree::spsc_queue<Group*, boost::lockfree::capacity<kCommittedMax>> committed_;
  Loading loading_;
  ItemsMailbox items_;
  ItemsReporter reporter_;
};

}  // namespace holdfast
