#include "server/loop.h"

#include "protocol/check.h"
#include "server/descriptors.h"
#include "server/process_figures.h"

#include <sys/signalfd.h>
#include <unistd.h>

#include <cstdlib>

namespace holdfast {

Loop::Loop(const Options& options, const Users& users, Clock& clock, std::string run_id,
           void (*say)(std::string_view line))
    : options_(options),
      users_(users),
      clock_(clock),
      run_id_(std::move(run_id)),
      answers_are_durable_(options.fsync == "always"),
      notice_(say),
      connections_(poller_, *this) {
  CHECK(poller_.add(waker_.fd(), kWakerTag, EPOLLIN));
  reading_ = clock_.read();
  started_ = boot_ms();
  last_save_ = WallTime(std::chrono::duration_cast<Millis>(reading_.wall));
  publish_options();
}

Loop::~Loop() {
  connections_.close_all();  // while there is still what their sessions leave
  delete served_.load();
}

void Loop::listen(FileDescriptor listener) {
  options_.maxclients = fitting_connections(options_.maxclients, notice_);
  connections_.listen(std::move(listener));
}

void Loop::watch_signals(FileDescriptor signals) {
  signals_ = std::move(signals);
  CHECK(poller_.add(signals_.get(), kSignalTag, EPOLLIN));
}

void Loop::serve(Shard& shard, LogThread& log, Millis recovery) {
  delete served_.exchange(new Served{&shard, &log, recovery});
  waker_.wake();
}

void Loop::stop() {
  stop_.store(true);
  waker_.wake();
}

void Loop::on_committed(std::span<Group* const> groups) {
  // The ring has room: a shard that is behind by kGroupsBehindMax groups makes no records.
  for (Group* group : groups) CHECK(committed_.push(group));
  waker_.wake();
}

void Loop::publish_options() noexcept {
  telemetry_.stats.connections_limit.set(options_.maxclients);
  telemetry_.stats.slow_flush_max_ms.set(static_cast<std::uint64_t>(options_.slow_flush_max.count()));
}

void Loop::ask_items() noexcept {
  items_.ask();
  waker_.wake();
}

void Loop::run() {
  name_thread("shard-0");
  while (!drained()) turn();
  connections_.close_all();
}

bool Loop::drained() const {
  if (!stopping_) return false;
  const bool answered = connections_.open_count() == 0 && (shard_ == nullptr || shard_->idle());
  return answered || boot_ms() - stop_began_ >= kDrainMax;
}

void Loop::turn() {
  waker_.sleeps();
  const auto events = poller_.wait(sleep_time());
  waker_.wakes();
  telemetry_.begin_turn(clock_.boot());
  for (const epoll_event& event : events) dispatch(event);
  connections_.resume();
  send_commands();
  reading_ = clock_.read();  // the one look at the clock; after the reads that brought the commands
  telemetry_.end_reads(reading_);
  take_orders();
  if (shard_ != nullptr) {
    run_shard();
    deliver_replies();
    publish_notices();
  }
  connections_.obey(boot_ms(), WallTime(std::chrono::duration_cast<Millis>(reading_.wall)), log_position());
  connections_.flush(boot_ms());
  if (boot_ms() - housekept_at_ >= connections_.attention()) {
    housekept_at_ = boot_ms();
    connections_.keep_time(boot_ms());
    look_at_rates();
  }
  report_items();
  if (telemetry_.worked()) end_turn();
}

void Loop::report_items() {
  if (!items_.take_request()) return;
  publish_options();
  items_.answer(shard_ == nullptr ? std::make_unique<ItemsReport>()
                                  : reporter_.make(shard_->inventory(), shard_->busy_items(), options_.metrics_items));
}

void Loop::end_turn() {
  // Another thread's maximum is taken away from it: the next one begins anew.
  const bool watches = log_ != nullptr && options_.latency_monitor_threshold > 0;
  telemetry_.end_turn(clock_.boot(), watches ? log_->take_longest_flush_ns() : 0);
}

/// Until the next moment at which this thread has something to do by itself.
Millis Loop::sleep_time() {
  if (connections_.has_work() || filling_ != nullptr || more_due_ || items_.requested()) return Millis{};
  if (committed_.read_available() > 0) return Millis{};
  if (served_.load() != nullptr || (stop_.load() && !stopping_)) return Millis{};
  if (stopping_) return kSweepEvery;
  const Millis wait = std::max(Millis{}, connections_.next_wait() - boot_ms());
  const Millis longest = std::min(connections_.attention(), wait);
  if (shard_ == nullptr || due_ == HoldTime::max()) return longest;
  return std::min(std::max(due_ - now_.hold, Millis{1}), longest);
}

/// What other threads left.
void Loop::take_orders() {
  if (const std::unique_ptr<Served> served{served_.exchange(nullptr)}; served != nullptr) {
    shard_ = served->shard;
    log_ = served->log;
    recovery_ = served->recovery;
    clocks_.emplace(log_->clocks());
  }
  if (!stop_.load() || stopping_) return;
  stopping_ = true;
  stop_began_ = boot_ms();
  if (shard_ != nullptr) shard_->end_waits(now_);
  connections_.drain();
}

void Loop::dispatch(const epoll_event& event) {
  if (event.data.u64 == kWakerTag) return waker_.drain();
  if (event.data.u64 != kSignalTag) return connections_.on_ready(event.data.u64, event.events);
  // While the log is replayed nothing is written or acknowledged, so that there is nothing to drain.
  if (shard_ == nullptr) std::_Exit(0);
  signalfd_siginfo info{};
  if (::read(signals_.get(), &info, sizeof info) == sizeof info) stop();
}

void Loop::set_options(const Options& options) {
  options_ = options;
  options_.maxclients = fitting_connections(options_.maxclients, notice_);
}

// Commands out, replies in.

void Loop::forward(const StepCommand& command) {
  CHECK(credits_ > 0);
  --credits_;
  put(command);
}

void Loop::forget(ConnectionKey connection) {
  if (shard_ != nullptr) put({nullptr, {connection, {}}, {}, {}});
}

void Loop::end_waits(ConnectionKey connection, WaitEnd how) {
  if (shard_ != nullptr) put({nullptr, {connection, {}}, {}, {}, how});
}

void Loop::shut_down() {
  if (shard_ == nullptr) std::_Exit(0);  // as a signal then
  stop();
}

LogPosition Loop::log_position() {
  if (log_ == nullptr) return {};
  const LogStatus& status = log_->status();
  const Lsn durable(status.durable_lsn.load(std::memory_order_acquire));
  if (durable != seen_durable_) {
    seen_durable_ = durable;
    last_save_ = WallTime(std::chrono::duration_cast<Millis>(reading_.wall));
  }
  return {Lsn(status.written_lsn.load(std::memory_order_relaxed)), durable, answers_are_durable_};
}

void Loop::look_at_rates() {
  const ThreadStats& stats = telemetry_.stats;
  commands_rate_.look(stats.requests.value(), boot_ms());
  input_rate_.look(stats.input_bytes.value(), boot_ms());
  output_rate_.look(stats.output_bytes.value(), boot_ms());
}

void Loop::put(const StepCommand& command) {
  const bool alone = command.entry != nullptr && command.entry->pace >= CommandPace::lengthy;
  if (filling_ != nullptr && (alone || !filling_->add(command))) send_block();
  if (filling_ == nullptr) {
    filling_ = pool_.take();
    filling_->set_arrived(telemetry_.began());
    CHECK(filling_->add(command));
  }
  if (alone) send_block();
}

void Loop::send_block() { commands_.send(std::move(filling_)); }

void Loop::send_commands() {
  if (filling_ != nullptr) send_block();
  commands_.flush();
}

void Loop::run_shard() {
  now_ = clocks_->now(reading_);
  take_committed();
  shard_->set_noticing(pubsub_.wants_items());
  shard_->set_space(log_->status().space_at(reading_.boot, options_.slow_flush_max));
  const std::size_t blocks = run_commands();
  keep_time(blocks == 0 && !connections_.has_work());
  if (Group* group = shard_->hand_over(); group != nullptr) log_->submit(*group);
  while (auto block = shard_->take_replies(kThisThread)) replies_.send(std::move(block));
  shard_->publish(now_);
}

std::size_t Loop::run_commands() {
  std::size_t blocks = 0;
  for (; blocks < kBlocksPerSourceMax && !shard_->behind(); ++blocks) {
    auto block = commands_.receive();
    if (block == nullptr) break;
    shard_->run(*block, kThisThread, now_);
    note_batch(*block);
    pool_.give(std::move(block));
  }
  return blocks;
}

/// One look at the clock for a block of commands.
void Loop::note_batch(const CommandBlock& block) {
  if (!telemetry_.note_batch(block.commands(), clock_.boot())) return;
  const Session* session = connections_.session(block.commands().front().address.connection);
  if (session == nullptr) return telemetry_.add_slow_batch(block.commands(), {});
  telemetry_.add_slow_batch(block.commands(), {session->peer().address, session->name()});
}

/// The sweep: at once when there is nothing else to do, else every kSweepEvery.
void Loop::keep_time(bool idle) {
  due_ = shard_->next_due(now_);
  if (stopping_ || shard_->behind() || (!more_due_ && due_ > now_.hold)) return;
  if (!more_due_ && !idle && boot_ms() - swept_at_ < kSweepEvery) return;
  swept_at_ = boot_ms();
  more_due_ = shard_->keep_time(now_);
  due_ = shard_->next_due(now_);
}

void Loop::take_committed() {
  Group* group = nullptr;
  while (committed_.pop(group)) shard_->committed(*group, now_);
}

void Loop::publish_notices() {
  for (const ItemNotice& notice : shard_->take_notices()) pubsub_.publish(kItemsChannel, notice_json(notice));
}

void Loop::deliver_replies() {
  for (auto block = replies_.receive(); block != nullptr; block = replies_.receive()) {
    for (std::size_t i = 0; i < block->size(); ++i) {
      const ReplyBlock::Reply reply = block->reply(i);
      connections_.answer(reply.address, reply.bytes);
    }
    telemetry_.note_replies(block->arrivals());
    credits_ += static_cast<std::uint32_t>(block->size());
    CHECK(credits_ <= kCreditsMax);
    shard_->give_back(std::move(block));
    replies_.flush();
  }
  telemetry_.stats.commands_outstanding.set(kCreditsMax - credits_);
}

}  // namespace holdfast
