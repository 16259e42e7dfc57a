// Commands about the connection: handshake, PING and the like. CLIENT, COMMAND, CONFIG, INFO and what administrators
// ask for have files of their own.
#include "server/session_commands.h"

#include "protocol/check.h"
#include "protocol/names.h"
#include "server/session.h"

#include <fmt/format.h>

namespace holdfast {
namespace {

constexpr std::string_view kNoPassword =
    "ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration "
    "is correct?";
constexpr std::string_view kWrongPassword = "WRONGPASS invalid username-password pair or user is disabled.";
constexpr std::string_view kHelloNoAuth =
    "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH <user> <pass> "
    "option can be used to authenticate the client and select the RESP protocol version at the same time";

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
      if (!is_client_label(options.name)) {
        reply.raw_error(kBadClientName);
        return false;
      }
    } else {
      reply.error(Error::format(ErrorCode::err, "Syntax error in HELLO option '{}'", words[i].substr(0, 128)));
      return false;
    }
  }
  return true;
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
  session.close(CloseReason::quit);
  reply.status("OK");
}

void session_select(Session&, Words words, ReplyWriter& reply) {
  std::int64_t index = 0;
  if (!parse_integer(words[1], index)) return reply.raw_error(kNotInteger);
  if (index != 0) return reply.raw_error("ERR DB index is out of range");
  reply.status("OK");
}

void session_ping(Session& session, Words words, ReplyWriter& reply) {
  if (words.size() > 2) return reply.raw_error("ERR wrong number of arguments for 'ping' command");
  if (session.in_subscriber_mode()) {
    reply.array(2);
    reply.bulk("pong");
    return reply.bulk(words.size() == 2 ? words[1] : "");
  }
  if (words.size() == 2) return reply.bulk(words[1]);
  reply.status("PONG");
}

void session_echo(Session&, Words words, ReplyWriter& reply) { reply.bulk(words[1]); }

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

}  // namespace holdfast
