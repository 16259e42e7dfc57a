#include "server/session.h"

#include "protocol/check.h"
#include "server/monitor_line.h"
#include "server/session_commands.h"

#include <algorithm>

namespace holdfast {
namespace {

/// Commands on one item are executed in the order in which they came, whoever answers them.
#if HOLDFAST_MUTANT == 32
constexpr bool kInOrder = false;
#else
constexpr bool kInOrder = true;
#endif
constexpr std::string_view kLoadingText = "Holdfast is loading the log into memory";

bool is_subscribing(CommandId id) noexcept {
  switch (id) {
    case CommandId::subscribe:
    case CommandId::unsubscribe:
    case CommandId::psubscribe:
    case CommandId::punsubscribe:
    case CommandId::ssubscribe:
    case CommandId::sunsubscribe:
      return true;
    default:
      return false;
  }
}

/// What RESP2 leaves to a connection that is subscribed to something.
bool is_for_subscribers(CommandId id) noexcept {
  return is_subscribing(id) || id == CommandId::ping || id == CommandId::quit || id == CommandId::reset;
}

/// What is executed between MULTI and EXEC instead of being queued.
bool goes_past_queue(CommandId id) noexcept {
  return id == CommandId::multi || id == CommandId::exec || id == CommandId::discard || id == CommandId::watch ||
         id == CommandId::quit || id == CommandId::reset;
}

/// What cannot be answered while the log is being replayed.
bool needs_items(const CommandEntry& entry) noexcept {
  return entry.home == CommandHome::step || entry.id == CommandId::ping || entry.id == CommandId::watch ||
         entry.id == CommandId::exec || entry.group == CommandGroup::stream;
}

/// What a browser sends when a web page makes it talk to this port.
bool is_http(std::string_view word) noexcept {
  return equals_ignoring_case(word, "POST") || equals_ignoring_case(word, "HOST:");
}

}  // namespace

Session::Session(ConnectionKey key, std::uint64_t id, Peer peer, WallTime began, SessionHost& host)
    : host_(host),
      control_(host.control()),
      stats_(host.telemetry().stats),
      key_(key),
      id_(id),
      user_(&host.users().initial()),
      peer_(std::move(peer)),
      began_(began) {}

bool Session::wants_input() const noexcept {
  return !closing_ && !large_open_ && replies_.open_count() < kUnansweredMax && replies_.bytes() < kOutputBytesMax;
}

std::size_t Session::receive(std::string_view input, Turn& turn) {
  std::size_t done = 0;
  while (turn.commands > 0 && turn.bytes > 0 && wants_input() && host_.has_credit()) {
    RequestBuffer& request = host_.request_buffer();
    const RequestLimits& limits = authenticated() ? kRequestLimits : kRequestLimitsBeforeAuth;
    const RespParser::Parsed parsed = parser_.next(input.substr(done), limits, request);
    done += parsed.consumed;
    turn.bytes -= std::min(turn.bytes, parsed.consumed);
    if (parsed.outcome == RespParser::Outcome::incomplete) return done;
    if (parsed.outcome == RespParser::Outcome::failed) {
      refuse(parser_.error());
      close(CloseReason::protocol);
      break;
    }
    --turn.commands;
    execute(request.request());
    if (!authenticated() && replies_.bytes() > kOutputBytesBeforeAuthMax) close(CloseReason::protocol);
  }
  return closing_ ? input.size() : done;
}

void Session::execute(Words words) {
  stats_.requests.add();
  mute_this_ = std::exchange(mute_after_, false);
  const auto found = find_command(words);
  if (!found) {
    if (is_http(words[0])) return close(CloseReason::protocol);
    if (in_transaction()) transaction_->abort();
    reject(find_command_name(words));
    return refuse(found.error());
  }
  const CommandEntry& entry = **found;
  if ((role_bit(entry.role) & user_->roles) == 0) return refuse_role(entry);
  last_ = &entry;
  if (in_subscriber_mode() && !is_for_subscribers(entry.id)) {
    reject(&entry);
    return refuse(Error::format(ErrorCode::err,
                                "Can't execute '{}': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are "
                                "allowed in this context",
                                full_name(entry)));
  }
  if (host_.loading() && needs_items(entry)) {
    if (in_transaction()) entry.id == CommandId::exec ? transaction_->clear() : transaction_->abort();
    reject(&entry);
    return refuse(Error(ErrorCode::loading, kLoadingText));
  }
  // What is queued is shown as it is queued.
  if (control_.monitored() && entry.id != CommandId::monitor) tell_monitors(entry, words);
  if (in_transaction() && !goes_past_queue(entry.id)) return queue(entry, words);
  if (entry.home == CommandHome::session) return execute_here(entry, words);
  forward(entry, words);
}

void Session::execute_here(const CommandEntry& entry, Words words) {
  std::string& out = replies_.begin();
  const std::size_t begin = out.size();
  ReplyWriter reply(out, version_);
  executing_ = true;
  run_session_command(entry.id, *this, words, reply);
  executing_ = false;
  const bool deferred = std::exchange(deferred_, false);
  const bool failed = !deferred && out.size() > begin && out[begin] == '-';
  if (failed) stats_.count_error(std::string_view(out).substr(begin));
  // What its owner answers counts where it is executed.
  if (message_.empty()) host_.telemetry().note_session(entry, words, failed, {peer_.address, name_});
  if (deferred) return;
  const bool subscribing = is_subscribing(entry.id);
  replies_.end(!message_.empty() || (silent() && !subscribing));
  if (!message_.empty()) forward_message(entry);
  if (!late_pushes_.empty()) send_late_pushes();
  if (!subscribing) return;
  confirming_ = true;
  confirmed_from_ = replies_.position();
}

void Session::queue(const CommandEntry& entry, Words words) {
  if (const auto taken = transaction_->queue(entry, words); !taken) {
    reject(&entry);
    return refuse(taken.error());
  }
  ReplyWriter(replies_.begin(), version_).status("QUEUED");
  replies_.end(silent());
}

void Session::forward_message(const CommandEntry& entry) {
  waits_ = waits_ || entry.id == CommandId::watch;
  send({&entry, {key_, replies_.defer(silent())}, version_, std::exchange(message_, {})});
  if (entry.id == CommandId::exec) transaction_->clear();
}

void Session::forward(const CommandEntry& entry, Words words) {
  if (entry.id == CommandId::reserve && refuse_from_view(entry, words)) return;
  const ReplySlot slot = replies_.defer(silent());
  if (entry.pace == CommandPace::large) {
    large_open_ = true;
    large_slot_ = slot;
  }
  if (entry.id == CommandId::reservation_wait) {
    waits_ = true;
    waiting_.push_back(slot);
  }
  send({&entry, {key_, slot}, version_, words});
}

void Session::send(const StepCommand& command) {
  const Route route = host_.router().route(*command.entry, command.words);
  if (route.kind == Route::Kind::one) [[likely]]
    return forward_to(route.shard, command);
  scatter(command);
}

void Session::forward_to(ShardIndex shard, const StepCommand& command) {
  if (outstanding_.empty()) outstanding_.resize(host_.router().count());
  ++outstanding_[shard.value()];
  ++outstanding_count_;
  host_.forward(shard, command);
}

/// Refuses a RESERVE here, if a view says so.
bool Session::refuse_from_view(const CommandEntry& entry, Words words) {
  ViewMap* const views = host_.views();
  if (views == nullptr || views->size() == 0) return false;
  const auto owner_is_asked = [&] { return outstanding_[host_.router().route(entry, words).shard.value()] > 0; };
  if (kInOrder && outstanding_count_ > 0 && owner_is_asked()) return false;
  std::string& out = replies_.begin();
  ReplyWriter reply(out, version_);
  const auto outcome = views->answer(words, host_.view_time(), reply);
  if (!outcome) return false;
  replies_.end(silent());
  host_.telemetry().note_view_refusal(*outcome);
  return true;
}

/// To each shard its part; the first one counts the command.
void Session::scatter(StepCommand command) {
  scattered_.push_back(std::make_unique<Scattered>(Scattered{command.address.slot, {}}));
  for (const Gather::Part& part : scattered_.back()->gather.plan(*command.entry, command.words, host_.router())) {
    command.words = part.words;
    forward_to(part.shard, command);
    command.further = true;
  }
}

void Session::refuse(const Error& error) {
  std::string& out = replies_.begin();
  const std::size_t begin = out.size();
  ReplyWriter(out, version_).error(error);
  stats_.count_error(std::string_view(out).substr(begin));
  replies_.end(silent());
}

/// A command that is known is not executed.
void Session::reject(const CommandEntry* entry) {
  if (entry != nullptr) stats_.commands[static_cast<std::size_t>(entry->id)].rejected.add();
}

void Session::refuse_role(const CommandEntry& entry) {
  if (in_transaction()) transaction_->abort();
  reject(&entry);
  if (!authenticated()) return refuse(Error(ErrorCode::no_auth, "Authentication required."));
  stats_.commands_denied.add();
  refuse(Error::format(ErrorCode::no_perm, "User {} has no permissions to run the '{}' command", user_->name,
                       full_name(entry)));
}

bool Session::authenticate(std::string_view user, std::string_view secret) {
  const User* found = host_.users().authenticate(user, secret);
  if (found != nullptr) {
    user_ = found;
    return true;
  }
  stats_.wrong_secrets.add();
  if (++wrong_secrets_ < kWrongSecretsMax) return false;
  close(CloseReason::secrets);
  return false;
}

void Session::answer_from(ShardIndex shard, ReplySlot slot, std::string_view bytes) {
  --outstanding_[shard.value()];
  --outstanding_count_;
  const auto found = std::find_if(scattered_.begin(), scattered_.end(),
                                  [slot](const auto& scattered) { return scattered->slot == slot; });
  if (found == scattered_.end()) [[likely]]
    return answer(slot, bytes);
  if (!(*found)->gather.add(shard, bytes)) return;
  std::string whole;
  (*found)->gather.take(whole);
  scattered_.erase(found);
  answer(slot, whole);
}

void Session::answer(ReplySlot slot, std::string_view bytes) {
  if (subscriptions_ != nullptr && subscriptions_->page_asked && slot == subscriptions_->page_slot) {
    return take_page(slot, bytes);
  }
  if (!bytes.empty() && bytes.front() == '-') stats_.count_error(bytes);
  if (!waiting_.empty()) std::erase(waiting_, slot);
  if (large_open_ && slot == large_slot_) large_open_ = false;
  if (log_slot_ == slot) log_slot_.reset();
  replies_.fill(slot, bytes);
}

ReplySlot Session::defer(bool waits) {
  CHECK(!deferred_ && !large_open_);
  deferred_ = large_open_ = true;
  large_slot_ = replies_.defer(silent());
  if (waits) waiting_.push_back(large_slot_);
  return large_slot_;
}

void Session::show(std::string_view line) {
  if (muted_) return;
  replies_.begin().append(line);
  replies_.end(false);
}

void Session::tell_monitors(const CommandEntry& entry, Words words) {
  const auto wall = std::chrono::duration_cast<std::chrono::microseconds>(host_.read_clock().wall);
  control_.tell_monitors(monitor_line(wall, peer_.address, entry, words));
}

void Session::reset() {
  version_ = RespVersion::resp2;
  muted_ = mute_this_ = mute_after_ = false;
  name_.clear();
  kept_ = no_touch_ = false;
  user_ = &host_.users().initial();
  if (transaction_ != nullptr) transaction_->clear();
  leave_channels();
  if (std::exchange(monitors_, false)) control_.monitor(key_, false);
}

std::size_t Session::memory() const noexcept {
  std::size_t bytes = replies_.memory() + late_pushes_.capacity() + outstanding_.capacity() * sizeof(std::uint16_t);
  if (transaction_ != nullptr) bytes += transaction_->memory();
  for (const auto& scattered : scattered_) bytes += sizeof(Scattered) + scattered->gather.memory();
  if (subscriptions_ != nullptr) bytes += subscriptions_->memory();
  return bytes;
}

Transaction& Session::transaction() {
  if (transaction_ == nullptr) transaction_ = std::make_unique<Transaction>();
  return *transaction_;
}

ClientFacts Session::facts(WallTime now) const {
  ClientFacts facts;
  facts.id = id_;
  facts.address = peer_.address;
  facts.local_address = peer_.local_address;
  facts.fd = peer_.fd;
  facts.name = name_;
  facts.user = user_->name;
  facts.library = library_;
  facts.library_version = library_version_;
  facts.age_seconds = std::max<std::int64_t>(0, (now - began_).count() / 1000);
  facts.version = version_;
  facts.last = last_;
  facts.monitors = monitors_;
  facts.blocked = blocked();
  facts.subscribes = has_subscriptions();
  if (subscriptions_ != nullptr) {
    facts.channels = subscriptions_->count(ChannelKind::channel);
    facts.patterns = subscriptions_->count(ChannelKind::pattern);
    facts.shard_channels = subscriptions_->count(ChannelKind::shard_channel);
  }
  if (in_transaction()) {
    facts.queued = static_cast<std::int64_t>(transaction_->count());
    facts.queued_bytes = transaction_->bytes();
  }
  facts.closing = closing_;
  facts.no_evict = kept_;
  facts.no_touch = no_touch_;
  facts.output_bytes = replies_.ready().size();
  facts.output_replies = replies_.early_count();
  facts.output_held_bytes = replies_.early_bytes();
  facts.output_buffer_bytes = replies_.memory();
  return facts;
}

}  // namespace holdfast
