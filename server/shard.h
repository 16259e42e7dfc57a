// A shard: the items of one thread, what their steps add to the log, and the replies that wait for it. Blocks of commands
// and committed groups come in, blocks of replies and sealed groups go out. No I/O and no clock; the thread's.
//
//   run(block) -> step -> records into the open group, reply to the gate
//   hand_over() -> the open group, sealed, for the log        committed(group) -> its replies become ready
#pragma once

#include "server/busy_items.h"
#include "server/gate.h"
#include "server/lookahead.h"
#include "server/thread_stats.h"
#include "server/transaction_step.h"
#include "server/view_map.h"
#include "storage/group.h"
#include "storage/log_status.h"

#include <deque>

namespace holdfast {

class Shard {
 public:
  struct Settings {
    ShardIndex index;
    std::size_t threads = 1;  // that own connections
    std::size_t group_bytes = 0;
    Inventory::Settings inventory;
    bool sweeps = true;
  };

  /// `stats`: of the shard's thread.
  Shard(const Settings& settings, ThreadStats& stats);

  /// For recovery, before begin().
  Inventory& inventory() noexcept { return inventory_; }
  const Inventory& inventory() const noexcept { return inventory_; }
  /// Opens the first group. REQUIRES: called once, before any other of the following.
  void begin();

  /// Executes the commands of a block that came from a thread.
  void run(const CommandBlock& block, ThreadIndex from, const Now& now);
  /// Sweeps what is due, and answers RESERVATION WAIT whose time is over. Returns whether more is due now.
  bool keep_time(const Now& now);
  /// When keep_time has something to do next, at the latest.
  HoldTime next_due(const Now& now) const;

  /// The open group, sealed, if it has records and the log should have it now; it belongs to the log until committed.
  Group* hand_over();
  /// The log has made it safe.
  void committed(Group& group, const Now& now);
  /// Whether the open group has all the records that it should.
  bool group_is_full() const noexcept { return open_->wants_seal(); }
  /// Whether the log has to catch up before anything more is run.
  bool behind() const noexcept { return at_log_ >= kGroupsBehindMax; }
  /// Whether new reservations are taken.
  void set_space(SpaceState space);
  /// What is known of the sinks, which may also refuse new reservations; answers who waited for one of them.
  void set_sinks(std::shared_ptr<const SinkBoard> sinks, const Now& now);

  std::unique_ptr<ReplyBlock> take_replies(ThreadIndex thread) { return gate_.take(thread); }
  void give_back(std::unique_ptr<ReplyBlock> block) { gate_.give_back(std::move(block)); }

  /// Answers every RESERVATION WAIT as things stand, and withdraws all views: the server stops.
  void end_waits(const Now& now);

  /// Views of items that a thread is to know: those whose refusals it was answered here. They travel with its replies, or
  /// after them, and before anything that take_retired gives later.
  std::vector<ViewNews> take_view_news(ThreadIndex thread) { return inventory_.views().take_news(thread.value()); }
  /// What every thread is to forget; the memory is freed when all have answered, told by `reclaim`.
  std::vector<RetiredView> take_retired() { return inventory_.views().take_retired(); }
  void reclaim(RetireTicket ticket) { inventory_.views().reclaim(ticket); }

  /// Whether somebody listens to holdfast:items: what changes from here on is noted.
  void set_noticing(bool on) { inventory_.set_noticing(on); }
  /// Notices whose changes are durable, oldest first.
  std::vector<ItemNotice> take_notices() { return std::exchange(ready_notices_, {}); }

  std::size_t waits() const noexcept { return waits_.size(); }
  /// Replies that wait for the log.
  std::size_t gate_waiting() const noexcept { return gate_.waiting(); }
  /// Another thread, or this one, answered so many commands for an item from its view.
  void note_asked(const ViewOwner& item, std::uint64_t times) noexcept {
    busy_.note(item.item_index, item.item, times);
  }
  /// The items that commands ask for most.
  const BusyItems& busy_items() const noexcept { return busy_; }
  /// Tells the thread's statistics how things stand, and the views how the clocks do; O(1). Once a turn.
  void publish(const Now& now);
  /// Whether no record and no reply waits for the log.
  bool idle() const noexcept { return open_->empty() && at_log_ == 0 && gate_.waiting() == 0; }

 private:
  /// Gives the records of a step to whichever group is open.
  class OpenGroup final : public RecordSink {
   public:
    RecordPosition on_item(const RecordStamp& stamp, const ItemRecord& record) override;
    RecordPosition on_reservation(const RecordStamp& stamp, const ReservationRecord& record) override;
    RecordPosition on_forget(const RecordStamp& stamp, const ForgetRecord& record) override;
    RecordPosition on_default_returns(const RecordStamp& stamp, const DefaultReturnsRecord& record) override;
    Group* group = nullptr;
    ThreadStats* stats = nullptr;
  };

  /// A RESERVATION WAIT that waits, with the words of its own.
  struct Wait {
    ThreadIndex from;
    StepCommand command;
    std::unique_ptr<CommandBlock> words;
    HoldTime until;
  };

  /// What a connection watches; another connection in the same place has another generation.
  struct Watch {
    std::uint32_t generation = 0;
    WatchMark mark;
  };
  /// Notices that wait for their group.
  struct GroupNotices {
    GroupOrdinal group;
    std::vector<ItemNotice> notices;
  };

  /// As run_one.
  StepResult run_message(const StepCommand& command, ThreadIndex from, const Now& now,
                         std::chrono::nanoseconds arrived);
  void watch(const StepCommand& command, ThreadIndex from, const Now& now, std::chrono::nanoseconds arrived);
  StepResult run_exec(const StepCommand& command, ThreadIndex from, const Now& now, std::chrono::nanoseconds arrived);
  void count_executed(const CommandEntry& exec);
  void run_first_notices(const StepCommand& command, ThreadIndex from, const Now& now);
  void keep_notices();
  void release_notices(GroupOrdinal durable);
  /// Returns the item that the command was for, if any.
  StepResult run_one(const StepCommand& command, ThreadIndex from, const Now& now, std::chrono::nanoseconds arrived);
  /// What came of a command whose call is counted already.
  void count(const CommandEntry& entry, const StepResult& result, bool failed);
  void park(const StepCommand& command, ThreadIndex from, HoldTime until);
  void forget_watch(ConnectionKey connection, ThreadIndex from);
  void end_waits_of(const StepCommand& order, ThreadIndex from, const Now& now);
  /// Asks the waits again; those whose time is over, or all, get an answer in any case.
  void ask_waits(const Now& now, bool end_all);
  void open_next_group();
  void refuse_new();

  Settings settings_;
  ThreadStats& stats_;
  BusyItems busy_;
  std::vector<ExecutedCommand> executed_;  // of one transaction, for reuse
  OpenGroup sink_;
  Inventory inventory_;
  Lookahead lookahead_;
  Gate gate_;
  std::vector<std::unique_ptr<Group>> groups_;
  std::vector<Group*> spare_groups_;
  Group* open_ = nullptr;
  GroupOrdinal ordinal_;
  std::size_t at_log_ = 0;
  SpaceState space_ = SpaceState::ok;
  std::deque<Wait> waits_;
  HoldTime waits_due_ = HoldTime::max();
  std::vector<boost::unordered_flat_map<std::uint32_t, Watch>> watches_;  // by thread, by index of the connection
  std::deque<GroupNotices> notices_;                                      // oldest first
  std::vector<ItemNotice> ready_notices_;
  std::string reply_;
};

}  // namespace holdfast
