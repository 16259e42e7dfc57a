// Commands about the connection: handshake, names, replies. COMMAND, CONFIG and INFO have files of their own.
#include "server/session_commands.h"

#include "protocol/check.h"
#include "protocol/names.h"
#include "server/session.h"

#include <fmt/format.h>

#include <algorithm>

namespace holdfast {
namespace {

constexpr std::string_view kNoPassword =
    "ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration "
    "is correct?";
constexpr std::string_view kWrongPassword = "WRONGPASS invalid username-password pair or user is disabled.";
constexpr std::string_view kHelloNoAuth =
    "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH <user> <pass> "
    "option can be used to authenticate the client and select the RESP protocol version at the same time";
constexpr std::string_view kNoCluster = "ERR This instance has cluster support disabled";

constexpr std::string_view kBadName = "ERR Client names cannot contain spaces, newlines or special characters.";

/// What CLIENT LIST could not show unambiguously.
bool is_label(std::string_view text) noexcept {
  return text.size() <= kClientLabelBytesMax &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '!' && c <= '~'; });
}

void write_hello(Session& session, ReplyWriter& reply) {
  reply.map(7);
  reply.bulk("server");
  reply.bulk("redis");
  reply.bulk("version");
  reply.bulk(kRedisVersion);
  reply.bulk("proto");
  reply.integer(static_cast<int>(session.version()));
  reply.bulk("id");
  reply.integer(static_cast<std::int64_t>(session.id()));
  reply.bulk("mode");
  reply.bulk("standalone");
  reply.bulk("role");
  reply.bulk("master");
  reply.bulk("modules");
  reply.array(0);
}

/// What HELLO's options ask for; applied only when all of them are right.
struct HelloOptions {
  std::string_view user;
  std::string_view secret;
  bool auth = false;
  std::string_view name;
  bool set_name = false;
};

/// False: an error is written.
bool read_hello_options(Words words, HelloOptions& options, ReplyWriter& reply) {
  for (std::size_t i = 2; i < words.size(); ++i) {
    const std::size_t left = words.size() - i - 1;
    if (equals_ignoring_case(words[i], "AUTH") && left >= 2) {
      options.auth = true;
      options.user = words[i + 1];
      options.secret = words[i + 2];
      i += 2;
    } else if (equals_ignoring_case(words[i], "SETNAME") && left >= 1) {
      options.set_name = true;
      options.name = words[++i];
      if (!is_label(options.name)) {
        reply.raw_error(kBadName);
        return false;
      }
    } else {
      reply.error(Error::format(ErrorCode::err, "Syntax error in HELLO option '{}'", words[i].substr(0, 128)));
      return false;
    }
  }
  return true;
}

/// ON or OFF is answered OK; false: an error is written.
bool accept_switch(std::string_view word, ReplyWriter& reply) {
  const bool known = equals_ignoring_case(word, "ON") || equals_ignoring_case(word, "OFF");
  known ? reply.status("OK") : reply.raw_error(kSyntaxError);
  return known;
}

}  // namespace

void run_session_command(CommandId id, Session& session, Words words, ReplyWriter& reply) {
  switch (id) {
#define HOLDFAST_STEP(...)
#define HOLDFAST_SESSION(name, ...) \
  case CommandId::name:             \
    return session_##name(session, words, reply);
#include "protocol/commands.def"
#undef HOLDFAST_STEP
#undef HOLDFAST_SESSION
    default:
      break;
  }
  CHECK(false);
}

// Handshake.

void session_hello(Session& session, Words words, ReplyWriter& reply) {
  std::int64_t wanted = static_cast<int>(session.version());
  if (words.size() >= 2) {
    if (!parse_integer(words[1], wanted)) {
      return reply.raw_error("ERR Protocol version is not an integer or out of range");
    }
    if (wanted != 2 && wanted != 3) return reply.raw_error("NOPROTO unsupported protocol version");
  }
  HelloOptions options;
  if (!read_hello_options(words, options, reply)) return;
  if (options.auth && !session.authenticate(options.user, options.secret)) return reply.raw_error(kWrongPassword);
  if (!session.authenticated()) return reply.raw_error(kHelloNoAuth);
  if (options.set_name) session.set_name(options.name);
  session.set_version(static_cast<RespVersion>(wanted));
  reply.set_version(session.version());
  write_hello(session, reply);
}

void session_auth(Session& session, Words words, ReplyWriter& reply) {
  if (words.size() > 3) return reply.raw_error(kSyntaxError);
  const bool named = words.size() == 3;
  if (!named && !session.host().users().configured()) return reply.raw_error(kNoPassword);
  if (!session.authenticate(named ? words[1] : "default", words.back())) return reply.raw_error(kWrongPassword);
  reply.status("OK");
}

void session_reset(Session& session, Words, ReplyWriter& reply) {
  session.reset();
  reply.status("RESET");
}

void session_quit(Session& session, Words, ReplyWriter& reply) {
  session.close();
  reply.status("OK");
}

void session_select(Session&, Words words, ReplyWriter& reply) {
  std::int64_t index = 0;
  if (!parse_integer(words[1], index)) return reply.raw_error(kNotInteger);
  if (index != 0) return reply.raw_error("ERR DB index is out of range");
  reply.status("OK");
}

void session_ping(Session&, Words words, ReplyWriter& reply) {
  if (words.size() > 2) return reply.raw_error("ERR wrong number of arguments for 'ping' command");
  if (words.size() == 2) return reply.bulk(words[1]);
  reply.status("PONG");
}

void session_echo(Session&, Words words, ReplyWriter& reply) { reply.bulk(words[1]); }

// CLIENT.

void session_client_id(Session& session, Words, ReplyWriter& reply) {
  reply.integer(static_cast<std::int64_t>(session.id()));
}

void session_client_setname(Session& session, Words words, ReplyWriter& reply) {
  if (!is_label(words[2])) return reply.raw_error(kBadName);
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
  if (!is_label(words[3])) {
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

void session_client_info(Session& session, Words, ReplyWriter& reply) {
  const auto wall = std::chrono::duration_cast<Millis>(session.host().read_clock().wall);
  reply.verbatim(session.describe(WallTime(wall)) + "\n");
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
  if (accept_switch(words[2], reply)) session.keep(equals_ignoring_case(words[2], "ON"));
}
void session_client_no_touch(Session&, Words words, ReplyWriter& reply) { accept_switch(words[2], reply); }

void session_client_tracking(Session&, Words words, ReplyWriter& reply) {
  if (equals_ignoring_case(words[2], "OFF") && words.size() == 3) return reply.status("OK");
  if (!equals_ignoring_case(words[2], "ON") && !equals_ignoring_case(words[2], "OFF")) {
    return reply.raw_error(kSyntaxError);
  }
  reply.raw_error("ERR CLIENT TRACKING is not supported: stock changes all the time and must not be cached by clients");
}

// The server as others see it.

void session_time(Session& session, Words, ReplyWriter& reply) {
  const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(session.host().read_clock().wall).count();
  reply.array(2);
  reply.bulk(fmt::format_int(micros / 1'000'000).str());
  reply.bulk(fmt::format_int(micros % 1'000'000).str());
}

void session_role(Session& session, Words, ReplyWriter& reply) {
  reply.array(3);
  reply.bulk("master");
  reply.integer(static_cast<std::int64_t>(session.host().status().durable_lsn.value()));
  reply.array(0);
}

void session_module_list(Session&, Words, ReplyWriter& reply) { reply.array(0); }

void session_cluster(Session&, Words, ReplyWriter& reply) { reply.raw_error(kNoCluster); }
void session_readonly(Session&, Words, ReplyWriter& reply) { reply.raw_error(kNoCluster); }
void session_readwrite(Session&, Words, ReplyWriter& reply) { reply.raw_error(kNoCluster); }
void session_asking(Session&, Words, ReplyWriter& reply) { reply.raw_error(kNoCluster); }

}  // namespace holdfast
