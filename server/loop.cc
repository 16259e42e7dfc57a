#include "server/loop.h"

#include "protocol/check.h"
#include "server/descriptors.h"
#include "server/log_stream_thread.h"
#include "server/process_figures.h"

#include <fmt/format.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cstdlib>

namespace holdfast {
Loop::Loop(Hub& hub, ThreadIndex self, const Users& users, Clock& clock, void (*say)(std::string_view line))
    : hub_(hub),
      post_(hub, self),
      options_(hub.options()),
      options_version_(hub.options_version()),
      users_(users),
      clock_(clock),
      answers_are_durable_(options_.fsync == "always"),
      notice_(say),
      telemetry_(options_, hub.telemetry),
      waker_(hub.waker(self)),
      connections_(poller_, *this, hub, post_),
      filling_(hub.threads()),
      credits_(hub.threads(), options_.mailbox_credits) {
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

void Loop::watch_signals(FileDescriptor signals) {
  signals_ = std::move(signals);
  CHECK(poller_.add(signals_.get(), kSignalTag, EPOLLIN));
}

void Loop::serve(Shard& shard, LogThread& log, Millis recovery) {
  delete served_.exchange(new Served{&shard, &log, recovery});
}

void Loop::on_committed(Group& group) {
  // The ring has room: a shard that is behind by kGroupsBehindMax groups makes no records.
  CHECK(committed_.push(&group));
  waker_.wake();
}

/// Options that the scrape needs; one thread tells them.
void Loop::publish_options() noexcept {
  if (post_.self() != ThreadIndex()) return;
  telemetry_.stats.connections_limit.set(options_.maxclients);
  telemetry_.stats.slow_flush_max_ms.set(static_cast<std::uint64_t>(options_.slow_flush_max.count()));
}

void Loop::ask_items() noexcept {
  items_.ask();
  waker_.wake();
}

void Loop::run() {
  name_thread(fmt::format("shard-{}", post_.self().value()).c_str());
  while (!drained()) turn();
  connections_.close_all();
}

/// A thread whose own work is done still has the items that connections of others wait for, and those that are on their
/// way to it.
bool Loop::drained() const {
  if (!stopping_) return false;
  if (boot_ms() - stop_began_ >= kDrainMax) return true;
  if (hub_.draining.load() < hub_.threads()) return false;
  if (hub_.admissions.open_count() > 0 || !taken_.empty() || post_.has_mail() || !post_.all_sent()) return false;
  return shard_ == nullptr || shard_->idle();
}

void Loop::turn() {
  waker_.sleeps();
  const auto events = poller_.wait(sleep_time());
  waker_.wakes();
  telemetry_.begin_turn(clock_.boot());
  // First: what another thread did before a client knew of it comes before what that client then asks here.
  take_options();
  take_messages();
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
    send_asked();
  }
  report_items();
  post_.wake_receivers();
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
  const bool watches = log_ != nullptr && options_.latency_monitor_threshold > 0 && post_.self() == ThreadIndex();
  telemetry_.end_turn(clock_.boot(), watches ? log_->take_longest_flush_ns() : 0);
}

/// Until the next moment at which this thread has something to do by itself.
Millis Loop::sleep_time() {
  if (connections_.has_work() || filling_count_ > 0 || more_due_ || items_.requested()) return Millis{};
  if (committed_.read_available() > 0 || has_mail()) return Millis{};
  if ((hub_.serving() && shard_ == nullptr) || (hub_.stopping() && !stopping_)) return Millis{};
  if (hub_.options_version() != options_version_) return Millis{};
  if (stopping_) return kSweepEvery;
  const Millis wait = std::max(Millis{}, connections_.next_wait() - boot_ms());
  const Millis longest = std::min(connections_.attention(), wait);
  if (shard_ == nullptr || due_ == HoldTime::max()) return longest;
  return std::min(std::max(due_ - now_.hold, Millis{1}), longest);
}

void Loop::take_options() {
  const std::uint64_t version = hub_.options_version();
  if (version == options_version_) return;
  options_version_ = version;
  options_ = hub_.options();
}

/// All threads serve from the same moment on.
bool Loop::loading() {
  if (shard_ != nullptr) [[likely]]
    return false;
  if (!hub_.serving()) return true;
  const std::unique_ptr<Served> served{served_.exchange(nullptr)};
  CHECK(served != nullptr);
  shard_ = served->shard;
  log_ = served->log;
  recovery_ = served->recovery;
  clocks_.emplace(log_->clocks());
  views_.emplace(shard_->inventory().views().hashes());
  return false;
}

/// What other threads left.
void Loop::take_orders() {
  static_cast<void>(loading());
  if (!hub_.stopping() || stopping_) return;
  stopping_ = true;
  stop_began_ = boot_ms();
  if (shard_ != nullptr) shard_->end_waits(now_);
  if (hub_.log_stream != nullptr) hub_.log_stream->end_all();
  connections_.drain();
  hub_.draining.fetch_add(1);
}

/// Whether this thread would do something about what other threads sent.
bool Loop::has_mail() const noexcept {
  if (shard_ != nullptr && hub_.log_stream != nullptr && hub_.log_stream->has_mail(post_.self())) return true;
  const bool runs = shard_ != nullptr && !shard_->behind();
  return runs ? !taken_.empty() || post_.has_mail()
              : post_.has_messages() || (shard_ != nullptr && post_.has_replies());
}

void Loop::dispatch(const epoll_event& event) {
  if (event.data.u64 == kWakerTag) return waker_.drain();
  if (event.data.u64 != kSignalTag) return connections_.on_ready(event.data.u64, event.events);
  // While the log is replayed nothing is written or acknowledged, so that there is nothing to drain.
  if (loading()) std::_Exit(0);
  signalfd_siginfo info{};
  if (::read(signals_.get(), &info, sizeof info) == sizeof info) hub_.stop();
}

Result<void> Loop::change_options(const OptionsChange& change) {
  return hub_.change_options([&](Options& options) -> Result<void> {
    HOLDFAST_TRY(change(options));
    options.maxclients = fitting_connections(options.maxclients, hub_.threads(), notice_);
    options_ = options;
    return {};
  });
}

// Commands out, replies in.

void Loop::forward(ShardIndex shard, const StepCommand& command) {
  const ThreadIndex owner(shard.value());
  CHECK(credits_[owner.value()] > 0);
  if (--credits_[owner.value()] == 0) ++owners_without_credit_;
  put(owner, command);
}

void Loop::forget(ConnectionKey connection) { put_to_all({nullptr, {connection, {}}, {}, {}}); }

void Loop::end_waits(ConnectionKey connection, WaitEnd how) { put_to_all({nullptr, {connection, {}}, {}, {}, how}); }

void Loop::deliver(Delivery delivery) {
  if (delivery.thread == post_.self()) return connections_.deliver(delivery);
  const ThreadIndex to = delivery.thread;
  post_.send(to, std::move(delivery));
}

void Loop::shut_down() {
  if (loading()) std::_Exit(0);  // as a signal then
  hub_.stop();
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
  const SharedTelemetry& all = hub_.telemetry;
  commands_rate_.look(all.sum([](const ThreadStats& stats) -> auto& { return stats.requests; }), boot_ms());
  input_rate_.look(all.sum([](const ThreadStats& stats) -> auto& { return stats.input_bytes; }), boot_ms());
  output_rate_.look(all.sum([](const ThreadStats& stats) -> auto& { return stats.output_bytes; }), boot_ms());
}

void Loop::put(ThreadIndex owner, const StepCommand& command) {
  auto& filling = filling_[owner.value()];
  const bool alone = command.entry != nullptr && command.entry->pace >= CommandPace::lengthy;
  if (filling != nullptr && (alone || !filling->add(command))) send_block(owner);
  if (filling == nullptr) {
    filling = post_.command_block(owner);
    ++filling_count_;
    filling->set_arrived(telemetry_.began());
    CHECK(filling->add(command));
  }
  if (alone) send_block(owner);
}

void Loop::put_to_all(const StepCommand& command) {
  if (shard_ == nullptr) return;  // nothing was asked of any owner
  for (std::size_t i = 0; i < hub_.threads(); ++i) put(thread_at(i), command);
}

void Loop::send_block(ThreadIndex owner) {
  post_.send(owner, std::move(filling_[owner.value()]));
  --filling_count_;
}

void Loop::send_commands() {
  for (std::size_t i = 0; filling_count_ > 0 && i < hub_.threads(); ++i) {
    if (filling_[i] != nullptr) send_block(thread_at(i));
  }
  // Owners begin while this thread does its own turn.
  post_.wake_receivers();
}

void Loop::run_shard() {
  now_ = clocks_->now(reading_);
  take_committed();
  shard_->set_noticing(hub_.pubsub.wants_items());
  shard_->set_space(log_->status().space_at(reading_.boot, options_.slow_flush_max));
  const std::size_t blocks = run_commands();
  keep_time(blocks == 0 && !connections_.has_work());
  if (Group* group = shard_->hand_over(); group != nullptr) log_->submit(*group);
  shard_->publish(now_);  // before anybody can know of it by a reply
  for (std::size_t i = 0; i < hub_.threads(); ++i) {
    while (auto block = post_.used_reply_block(thread_at(i))) shard_->give_back(std::move(block));
    while (auto block = shard_->take_replies(thread_at(i))) post_.send(thread_at(i), std::move(block));
  }
  send_view_news();
  post_.wake_receivers();
}

/// A share of each thread's commands in turn, as long as the turn is not too long. Returns how many blocks there were.
std::size_t Loop::run_commands() {
  std::size_t blocks = 0;
  for (std::size_t round = 0; round < kRoundsMax && !shard_->behind() && !shard_->group_is_full(); ++round) {
    if (taken_.empty()) take_blocks();
    if (taken_.empty()) break;
    // What others sent since this turn's look at the clock is not executed at a time before it came.
    if (hub_.threads() > 1) now_ = clocks_->now(reading_ = clock_.read());
    blocks += run_blocks();
  }
  return blocks;
}

void Loop::take_blocks() {
  for (std::size_t i = 0; i < hub_.threads(); ++i) {
    const ThreadIndex from = thread_at((first_source_ + i) % hub_.threads());
    for (std::size_t commands = 0; commands < kCommandsPerSourceMax;) {
      auto block = post_.next_commands(from);
      if (block == nullptr) break;
      commands += block->commands().size();
      taken_.emplace_back(from, std::move(block));
    }
  }
  first_source_ = (first_source_ + 1) % hub_.threads();
}

std::size_t Loop::run_blocks() {
  std::size_t blocks = 0;
  for (; !taken_.empty() && !shard_->behind(); ++blocks) {
    auto& [from, block] = taken_.front();
    shard_->run(*block, from, now_);
    note_batch(*block, from);
    post_.give_back(from, std::move(block));
    taken_.pop_front();
  }
  return blocks;
}

/// One look at the clock for a block of commands.
void Loop::note_batch(const CommandBlock& block, ThreadIndex from) {
  if (!telemetry_.note_batch(block.commands(), clock_.boot())) return;
  SlowLog::Entry entry = telemetry_.slow_batch(block.commands());
  if (entry.words.empty()) return;
  const ConnectionKey connection = block.commands().front().address.connection;
  if (from == post_.self()) return add_slow(std::move(entry), connection);
  post_.send(from, SlowBatch{std::move(entry), connection});
}

void Loop::add_slow(SlowLog::Entry entry, ConnectionKey connection) {
  const Session* session = connections_.session(connection);
  if (session == nullptr) return telemetry_.add_slow(std::move(entry), {});
  telemetry_.add_slow(std::move(entry), {session->peer().address, session->name()});
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
  for (const ItemNotice& notice : shard_->take_notices()) {
    for (Delivery& delivery : hub_.pubsub.publish(kItemsChannel, notice_json(notice)).deliveries) {
      deliver(std::move(delivery));
    }
  }
}

void Loop::deliver_replies() {
  for (std::size_t i = 0; i < hub_.threads(); ++i) deliver_replies_of(thread_at(i));
  std::uint64_t left = 0;
  for (const std::uint64_t credits : credits_) left += credits;
  telemetry_.stats.commands_credit.set(left);
  telemetry_.stats.commands_outstanding.set(options_.mailbox_credits * hub_.threads() - left);
}

void Loop::deliver_replies_of(ThreadIndex owner) {
  std::uint64_t& credits = credits_[owner.value()];
  while (auto block = post_.next_replies(owner)) {
    for (std::size_t i = 0; i < block->size(); ++i) {
      const ReplyBlock::Reply reply = block->reply(i);
      connections_.answer_from(ShardIndex(owner.value()), reply.address, reply.bytes);
    }
    telemetry_.note_replies(block->arrivals());
    if (credits == 0 && block->size() > 0) --owners_without_credit_;
    credits += block->size();
    CHECK(credits <= options_.mailbox_credits);
    post_.give_back(owner, std::move(block));
  }
}

}  // namespace holdfast
