// CLIENT: this connection's names and replies, and other connections.
#include "protocol/names.h"
#include "server/session.h"
#include "server/session_commands.h"

#include <algorithm>

namespace holdfast {
namespace {

std::optional<bool> on_or_off(std::string_view word) noexcept {
  if (equals_ignoring_case(word, "ON")) return true;
  if (equals_ignoring_case(word, "OFF")) return false;
  return std::nullopt;
}

/// Hands an order over; its reply comes when it is carried out.
void send_order(Session& session, ConnectionOrder::Kind kind, ClientFilter filter) {
  const ReplyAddress address{session.key(), session.defer(false)};
  session.host().control().order({kind, std::move(filter), address, session.version()});
}

}  // namespace

bool is_client_label(std::string_view text) noexcept {
  return text.size() <= kClientLabelBytesMax &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '!' && c <= '~'; });
}

// This connection.

void session_client_id(Session& session, Words, ReplyWriter& reply) {
  reply.integer(static_cast<std::int64_t>(session.id()));
}

void session_client_setname(Session& session, Words words, ReplyWriter& reply) {
  if (!is_client_label(words[2])) return reply.raw_error(kBadClientName);
  session.set_name(words[2]);
  reply.status("OK");
}

void session_client_getname(Session& session, Words, ReplyWriter& reply) {
  if (session.name().empty()) return reply.null();
  reply.bulk(session.name());
}

void session_client_setinfo(Session& session, Words words, ReplyWriter& reply) {
  const bool name = equals_ignoring_case(words[2], "LIB-NAME");
  if (!name && !equals_ignoring_case(words[2], "LIB-VER")) {
    return reply.error(Error::format(ErrorCode::err, "Unrecognized option '{}'", words[2].substr(0, 128)));
  }
  if (!is_client_label(words[3])) {
    return reply.error(Error::format(ErrorCode::err, "{} cannot contain spaces, newlines or special characters.",
                                     words[2].substr(0, 128)));
  }
  if (name) {
    session.set_library(words[3]);
  } else {
    session.set_library_version(words[3]);
  }
  reply.status("OK");
}

void session_client_info(Session& session, Words, ReplyWriter&) {
  ClientFilter self;
  self.ids = {session.id()};
  send_order(session, ConnectionOrder::Kind::list, std::move(self));
}

void session_client_reply(Session& session, Words words, ReplyWriter& reply) {
  if (equals_ignoring_case(words[2], "ON")) {
    session.mute(false);
    return reply.status("OK");
  }
  if (equals_ignoring_case(words[2], "OFF")) return session.mute(true);
  if (!equals_ignoring_case(words[2], "SKIP")) return reply.raw_error(kSyntaxError);
  if (!session.muted()) session.mute_next();
}

void session_client_no_evict(Session& session, Words words, ReplyWriter& reply) {
  const auto on = on_or_off(words[2]);
  if (!on) return reply.raw_error(kSyntaxError);
  session.keep(*on);
  reply.status("OK");
}

void session_client_no_touch(Session& session, Words words, ReplyWriter& reply) {
  const auto on = on_or_off(words[2]);
  if (!on) return reply.raw_error(kSyntaxError);
  session.set_no_touch(*on);
  reply.status("OK");
}

// Tracking, which there is not.

void session_client_tracking(Session&, Words words, ReplyWriter& reply) {
  const auto on = on_or_off(words[2]);
  if (!on) return reply.raw_error(kSyntaxError);
  if (!*on && words.size() == 3) return reply.status("OK");
  reply.raw_error("ERR CLIENT TRACKING is not supported: stock changes all the time and must not be cached by clients");
}

void session_client_trackinginfo(Session&, Words, ReplyWriter& reply) {
  reply.map(3);
  reply.bulk("flags");
  reply.set(1);
  reply.bulk("off");
  reply.bulk("redirect");
  reply.integer(-1);
  reply.bulk("prefixes");
  reply.array(0);
}

void session_client_caching(Session&, Words, ReplyWriter& reply) {
  reply.raw_error(
      "ERR CLIENT CACHING can be called only when the client is in tracking mode with OPTIN or OPTOUT mode enabled");
}

void session_client_getredir(Session&, Words, ReplyWriter& reply) { reply.integer(-1); }

// Other connections.

void session_client_list(Session& session, Words words, ReplyWriter& reply) {
  ReadFilter read = read_list_filter(words.subspan(2));
  if (!read.error.empty()) return reply.raw_error(read.error);
  send_order(session, ConnectionOrder::Kind::list, std::move(read.filter));
}

void session_client_kill(Session& session, Words words, ReplyWriter& reply) {
  if (words.size() == 3) {
    ClientFilter one;
    one.address = words[2];
    if (one.address.empty()) return reply.raw_error("ERR No such client");
    return send_order(session, ConnectionOrder::Kind::kill_one, std::move(one));
  }
  ReadFilter read = read_kill_filter(words.subspan(2), session.id());
  if (!read.error.empty()) return reply.raw_error(read.error);
  send_order(session, ConnectionOrder::Kind::kill, std::move(read.filter));
}

void session_client_unblock(Session& session, Words words, ReplyWriter& reply) {
  auto kind = ConnectionOrder::Kind::unblock;
  if (words.size() > 4) return reply.raw_error(kSyntaxError);
  if (words.size() == 4 && equals_ignoring_case(words[3], "ERROR")) {
    kind = ConnectionOrder::Kind::unblock_fail;
  } else if (words.size() == 4 && !equals_ignoring_case(words[3], "TIMEOUT")) {
    return reply.raw_error("ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR");
  }
  std::int64_t id = 0;
  if (!parse_integer(words[2], id)) return reply.raw_error(kNotInteger);
  ClientFilter one;
  one.ids = {static_cast<std::uint64_t>(id)};
  send_order(session, kind, std::move(one));
}

void session_client_pause(Session&, Words, ReplyWriter& reply) {
  reply.raw_error(
      "ERR CLIENT PAUSE is not supported: reservations must not wait without an answer; stop sales with ITEM PAUSE");
}

void session_client_unpause(Session&, Words, ReplyWriter& reply) { reply.status("OK"); }

}  // namespace holdfast
