// The thread of a shard: its connections, its items, and the messages between them and those of other threads. A turn is
//
//   sleep until something is ready -> messages -> read and parse, commands into blocks for their owners -> send blocks
//   -> sample the clock -> committed groups -> run blocks, from each thread in turn -> sweep
//   -> hand a group to the log -> deliver blocks of replies -> one write per connection
//
// It decides nothing: sessions, shard and gate do. Other threads talk to it through the hub, serve() and on_committed().
#pragma once

#include "server/connections.h"
#include "server/items_report.h"
#include "server/rate_meter.h"
#include "server/shard.h"
#include "server/telemetry.h"
#include "storage/log_thread.h"

namespace holdfast {

class Loop final : public SessionHost {
 public:
  /// `say` takes lines for the operator. Hub, users and clock outlive it.
  Loop(Hub& hub, ThreadIndex self, const Users& users, Clock& clock, void (*say)(std::string_view line));
  ~Loop() override;

  // Before run().

  /// Accepts connections for all threads.
  void listen(FileDescriptor listener) { connections_.listen(std::move(listener)); }
  /// Signals that end the process in order (signalfd).
  void watch_signals(FileDescriptor signals);

  /// Turns until the hub stops and all threads are drained: nothing more is executed, and what was executed is answered.
  /// Until serve() items are -LOADING; a signal then ends the process at once.
  void run();

  // Any thread.

  /// The log is replayed: items can be asked once the hub says that it serves. Both outlive run().
  void serve(Shard& shard, LogThread& log, Millis recovery);
  /// Takes a group of this thread's shard back from the log thread, which is the only caller.
  void on_committed(Group& group);
  /// Asks for the busiest items; take_items has them after one of the next turns. One thread.
  void ask_items() noexcept;
  std::unique_ptr<ItemsReport> take_items() noexcept { return items_.take(); }

  // SessionHost.

  const Options& options() const override { return options_; }
  Result<void> change_options(const OptionsChange& change) override;
  const Users& users() const override { return users_; }
  void notice(std::string_view line) override { notice_(line); }
  ServerStatus status() override;
  ViewMap* views() override { return views_ ? &*views_ : nullptr; }
  ViewTime view_time() override;
  void begin_input() override { view_time_.reset(); }
  Telemetry& telemetry() override { return telemetry_; }
  const Telemetry& telemetry() const noexcept { return telemetry_; }
  ClockReading read_clock() override { return clock_.read(); }
  bool loading() override;
  RequestBuffer& request_buffer() override { return *request_buffer_; }
  const Router& router() const override { return hub_.router; }
  void forward(ShardIndex shard, const StepCommand& command) override;
  bool has_credit() const override { return owners_without_credit_ == 0; }
  PubSub& pubsub() override { return hub_.pubsub; }
  SnapshotBoard& snapshots() override { return hub_.snapshots; }
  void deliver(Delivery delivery) override;
  ThreadIndex thread() const override { return post_.self(); }
  void forget(ConnectionKey connection) override;
  void end_waits(ConnectionKey connection, WaitEnd how) override;
  Control& control() override { return connections_; }
  void shut_down() override;

 private:
  static constexpr std::uint64_t kWakerTag = Connections::kForeignTags + 1;
  static constexpr std::uint64_t kSignalTag = Connections::kForeignTags + 2;
  void turn();
  void take_orders();
  void take_messages();
  void take_log_mail();
  void take(ThreadMessage& message);
  void take(const ViewsToKnow& known);
  void take(const ViewToForget& forget);
  void take(ViewForgotten forgotten);
  void send_view_news();
  void send_asked();
  void take_options();
  bool has_mail() const noexcept;
  Millis sleep_time();
  void dispatch(const epoll_event& event);
  void send_commands();
  void run_shard();
  std::size_t run_commands();
  void take_blocks();
  std::size_t run_blocks();
  void note_batch(const CommandBlock& block, ThreadIndex from);
  void add_slow(SlowLog::Entry entry, ConnectionKey connection);
  void end_turn();
  void report_items();
  void publish_options() noexcept;
  void send_block(ThreadIndex owner);
  void keep_time(bool idle);
  void take_committed();
  void deliver_replies();
  void deliver_replies_of(ThreadIndex owner);
  void publish_notices();
  bool drained() const;
  LogPosition log_position();
  void look_at_rates();
  void put(ThreadIndex owner, const StepCommand& command);
  void put_to_all(const StepCommand& command);
  ThreadIndex thread_at(std::size_t index) const noexcept { return ThreadIndex(static_cast<std::uint16_t>(index)); }
  Millis boot_ms() const noexcept { return std::chrono::duration_cast<Millis>(reading_.boot); }

  Hub& hub_;
  Post post_;
  Options options_;  // this thread's copy of the hub's
  std::uint64_t options_version_ = 0;
  const Users& users_;
  Clock& clock_;
  const bool answers_are_durable_;  // --fsync always
  void (*notice_)(std::string_view line);
  Telemetry telemetry_;
  Poller poller_;
  Waker& waker_;
  FileDescriptor signals_;
  Connections connections_;
  std::unique_ptr<RequestBuffer> request_buffer_ = std::make_unique<RequestBuffer>();

  // Commands to owners, by thread.
  std::vector<std::unique_ptr<CommandBlock>> filling_;
  std::size_t filling_count_ = 0;
  std::vector<std::uint64_t> credits_;
  std::size_t owners_without_credit_ = 0;
  /// From others and from this thread, to be run next.
  std::deque<std::pair<ThreadIndex, std::unique_ptr<CommandBlock>>> taken_;
  std::size_t first_source_ = 0;  // of the next blocks

  // Views of items, of all owners.
  std::optional<ViewMap> views_;       // once the log is replayed
  std::optional<ViewTime> view_time_;  // for the input at hand
  /// Of what this thread's shard is to free: how many threads have not answered.
  boost::unordered_flat_map<std::uint64_t, std::size_t> forgetting_;

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
  boost::lockfree::spsc_queue<Group*, boost::lockfree::capacity<kCommittedMax>> committed_;
  ItemsMailbox items_;
  ItemsReporter reporter_;
};

}  // namespace holdfast
