#include "server/session.h"

#include "protocol/check.h"
#include "server/session_commands.h"

#include <fmt/format.h>

#include <algorithm>

namespace holdfast {
namespace {

constexpr std::string_view kLoadingText = "Holdfast is loading the log into memory";

/// Commands whose reply may be large. While one is on its way, no further command of its connection is executed, so that
/// at most one such reply waits.
bool may_be_large(CommandId id) noexcept {
  switch (id) {
    case CommandId::smembers:
    case CommandId::sscan:
    case CommandId::reservation_list:
    case CommandId::item_list:
    case CommandId::item_verify:
      return true;
    default:
      return false;
  }
}

/// What a browser sends when a web page makes it talk to this port.
bool is_http(std::string_view word) noexcept {
  return equals_ignoring_case(word, "POST") || equals_ignoring_case(word, "HOST:");
}

}  // namespace

Session::Session(ConnectionKey key, std::uint64_t id, Peer peer, WallTime began, SessionHost& host)
    : host_(host),
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
      close_reason_ = CloseReason::protocol;
      closing_ = true;
      break;
    }
    --turn.commands;
    execute(request.request());
    if (!authenticated() && replies_.bytes() > kOutputBytesBeforeAuthMax) {
      close_reason_ = CloseReason::protocol;
      closing_ = true;
    }
  }
  return closing_ ? input.size() : done;
}

void Session::execute(Words words) {
  stats_.requests.add();
  mute_this_ = std::exchange(mute_after_, false);
  const auto found = find_command(words);
  if (!found) {
    if (is_http(words[0])) return close_reason_ = CloseReason::protocol, close();
    reject(find_command_name(words));
    return refuse(found.error());
  }
  const CommandEntry& entry = **found;
  if ((role_bit(entry.role) & user_->roles) == 0) return refuse_role(entry);
  last_ = &entry;
  if (host_.loading() && (entry.home == CommandHome::step || entry.id == CommandId::ping)) {
    reject(&entry);
    return refuse(Error(ErrorCode::loading, kLoadingText));
  }
  if (entry.home == CommandHome::session) return execute_here(entry, words);
  forward(entry, words);
}

void Session::execute_here(const CommandEntry& entry, Words words) {
  std::string& out = replies_.begin();
  const std::size_t begin = out.size();
  ReplyWriter reply(out, version_);
  run_session_command(entry.id, *this, words, reply);
  const bool failed = out.size() > begin && out[begin] == '-';
  if (failed) stats_.count_error(std::string_view(out).substr(begin));
  host_.telemetry().note_session(entry, words, failed, {peer_.address, name_});
  replies_.end(silent());
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
  close_reason_ = CloseReason::secrets;
  closing_ = true;
  return false;
}

void Session::answer(ReplySlot slot, std::string_view bytes) {
  if (!bytes.empty() && bytes.front() == '-') stats_.count_error(bytes);
  if (large_open_ && slot == large_slot_) large_open_ = false;
  replies_.fill(slot, bytes);
}

void Session::reset() {
  version_ = RespVersion::resp2;
  muted_ = mute_this_ = mute_after_ = false;
  name_.clear();
  kept_ = false;
  user_ = &host_.users().initial();
}

std::string Session::describe(WallTime now) const {
  const auto age = std::max<std::int64_t>(0, (now - began_).count() / 1000);
  const std::string command = last_ != nullptr ? full_name(*last_) : "NULL";
  return fmt::format(
      "id={} addr={} laddr={} fd={} name={} age={} idle=0 flags=N db=0 sub=0 psub=0 ssub=0 multi=-1 qbuf=0 qbuf-free=0 "
      "argv-mem=0 multi-mem=0 rbs=0 rbp=0 obl={} oll=0 omem=0 tot-mem=0 events=r cmd={} user={} redir=-1 resp={} "
      "lib-name={} lib-ver={}",
      id_, peer_.address, peer_.local_address, peer_.fd, name_, age, output_bytes(), command, user_->name,
      static_cast<int>(version_), library_, library_version_);
}

}  // namespace holdfast
