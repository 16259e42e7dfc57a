#include "server/session.h"

#include "protocol/check.h"
#include "server/session_commands.h"

#include <fmt/format.h>

#include <algorithm>

namespace holdfast {
namespace {

constexpr std::string_view kLoadingText = "LOADING Holdfast is loading the log into memory";

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
         entry.id == CommandId::exec;
}

/// What a browser sends when a web page makes it talk to this port.
bool is_http(std::string_view word) noexcept {
  return equals_ignoring_case(word, "POST") || equals_ignoring_case(word, "HOST:");
}

}  // namespace

Session::Session(ConnectionKey key, std::uint64_t id, Peer peer, WallTime began, SessionHost& host)
    : host_(host), key_(key), id_(id), user_(&host.users().initial()), peer_(std::move(peer)), began_(began) {}

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
      closing_ = true;
      break;
    }
    --turn.commands;
    execute(request.request());
    if (!authenticated() && replies_.bytes() > kOutputBytesBeforeAuthMax) closing_ = true;
  }
  return closing_ ? input.size() : done;
}

void Session::execute(Words words) {
  ++commands_;
  mute_this_ = std::exchange(mute_after_, false);
  const auto found = find_command(words);
  if (!found) {
    if (is_http(words[0])) return close();
    if (in_transaction()) transaction_->abort();
    return refuse(found.error());
  }
  const CommandEntry& entry = **found;
  if ((role_bit(entry.role) & user_->roles) == 0) return refuse_role(entry);
  last_ = &entry;
  if (in_subscriber_mode() && !is_for_subscribers(entry.id)) {
    return refuse(Error::format(ErrorCode::err,
                                "Can't execute '{}': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are "
                                "allowed in this context",
                                full_name(entry)));
  }
  if (host_.loading() && needs_items(entry)) {
    if (in_transaction()) entry.id == CommandId::exec ? transaction_->clear() : transaction_->abort();
    ReplyWriter(replies_.begin(), version_).raw_error(kLoadingText);
    return replies_.end(silent());
  }
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
  if (out.size() > begin && out[begin] == '-') ++error_replies_;
  const bool subscribing = is_subscribing(entry.id);
  replies_.end(!message_.empty() || (silent() && !subscribing));
  if (!message_.empty()) forward_message(entry);
  if (!late_pushes_.empty()) send_late_pushes();
  if (!subscribing) return;
  confirming_ = true;
  confirmed_from_ = replies_.position();
}

void Session::queue(const CommandEntry& entry, Words words) {
  if (const auto taken = transaction_->queue(entry, words); !taken) return refuse(taken.error());
  ReplyWriter(replies_.begin(), version_).status("QUEUED");
  replies_.end(silent());
}

void Session::forward_message(const CommandEntry& entry) {
  waits_ = waits_ || entry.id == CommandId::watch;
  host_.forward({&entry, {key_, replies_.defer(silent())}, version_, std::exchange(message_, {})});
  if (entry.id == CommandId::exec) transaction_->clear();
}

void Session::forward(const CommandEntry& entry, Words words) {
  const ReplySlot slot = replies_.defer(silent());
  if (may_be_large(entry.id)) {
    large_open_ = true;
    large_slot_ = slot;
  }
  if (entry.id == CommandId::reservation_wait) waits_ = true;
  host_.forward({&entry, {key_, slot}, version_, words});
}

void Session::refuse(const Error& error) {
  ++error_replies_;
  ReplyWriter(replies_.begin(), version_).error(error);
  replies_.end(silent());
}

void Session::refuse_role(const CommandEntry& entry) {
  if (in_transaction()) transaction_->abort();
  if (!authenticated()) {
    ++error_replies_;
    ReplyWriter(replies_.begin(), version_).raw_error("NOAUTH Authentication required.");
    return replies_.end(silent());
  }
  ++denied_;
  refuse(Error::format(ErrorCode::no_perm, "User {} has no permissions to run the '{}' command", user_->name,
                       full_name(entry)));
}

bool Session::authenticate(std::string_view user, std::string_view secret) {
  const User* found = host_.users().authenticate(user, secret);
  if (found != nullptr) {
    user_ = found;
    return true;
  }
  if (++wrong_secrets_ >= kWrongSecretsMax) closing_ = true;
  return false;
}

void Session::answer(ReplySlot slot, std::string_view bytes) {
  if (subscriptions_ != nullptr && subscriptions_->page_asked && slot == subscriptions_->page_slot) {
    return take_page(slot, bytes);
  }
  if (!bytes.empty() && bytes.front() == '-') ++error_replies_;
  if (large_open_ && slot == large_slot_) large_open_ = false;
  replies_.fill(slot, bytes);
}

void Session::reset() {
  version_ = RespVersion::resp2;
  muted_ = mute_this_ = mute_after_ = false;
  name_.clear();
  kept_ = false;
  user_ = &host_.users().initial();
  if (transaction_ != nullptr) transaction_->clear();
  leave_channels();
}

std::size_t Session::memory() const noexcept {
  std::size_t bytes = replies_.memory() + late_pushes_.capacity();
  if (transaction_ != nullptr) bytes += transaction_->memory();
  if (subscriptions_ != nullptr) bytes += subscriptions_->memory();
  return bytes;
}

Transaction& Session::transaction() {
  if (transaction_ == nullptr) transaction_ = std::make_unique<Transaction>();
  return *transaction_;
}

std::string Session::describe(WallTime now) const {
  const auto age = std::max<std::int64_t>(0, (now - began_).count() / 1000);
  const std::string command = last_ != nullptr ? full_name(*last_) : "NULL";
  const auto subscribed = [&](ChannelKind kind) { return subscriptions_ == nullptr ? 0 : subscriptions_->count(kind); };
  const int multi = in_transaction() ? static_cast<int>(transaction_->count()) : -1;
  const std::string_view flags = has_subscriptions() ? in_transaction() ? "Px" : "P" : in_transaction() ? "x" : "N";
  return fmt::format(
      "id={} addr={} laddr={} fd={} name={} age={} idle=0 flags={} db=0 sub={} psub={} ssub={} multi={} qbuf=0 "
      "qbuf-free=0 argv-mem=0 multi-mem={} rbs=0 rbp=0 obl={} oll=0 omem=0 tot-mem=0 events=r cmd={} user={} redir=-1 "
      "resp={} lib-name={} lib-ver={}",
      id_, peer_.address, peer_.local_address, peer_.fd, name_, age, flags, subscribed(ChannelKind::channel),
      subscribed(ChannelKind::pattern), subscribed(ChannelKind::shard_channel), multi,
      transaction_ == nullptr ? 0 : transaction_->bytes(), output_bytes(), command, user_->name,
      static_cast<int>(version_), library_, library_version_);
}

}  // namespace holdfast
