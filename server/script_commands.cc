// EVAL and its family, and the commands that would list or empty a whole key space. There is no script engine: what a
// script would have done is said, in one line, with what to send instead.
#include "server/server_status.h"
#include "server/session.h"
#include "server/session_commands.h"

#include <fmt/format.h>

namespace holdfast {
namespace {

constexpr std::string_view kNoEngine =
    "ERR Holdfast runs no scripts; what reserve and release scripts do, RESERVE, CONFIRM and RELEASE do in one step";
constexpr std::string_view kNoMatchingScript = "NOSCRIPT No matching script. Please use EVAL.";
constexpr std::string_view kFlush = "ERR items are not dropped all at once; drop each by ITEM DROP";

}  // namespace

void session_eval(Session&, Words, ReplyWriter& reply) { reply.raw_error(kNoEngine); }
void session_eval_ro(Session&, Words, ReplyWriter& reply) { reply.raw_error(kNoEngine); }
void session_evalsha(Session&, Words, ReplyWriter& reply) { reply.raw_error(kNoMatchingScript); }
void session_evalsha_ro(Session&, Words, ReplyWriter& reply) { reply.raw_error(kNoMatchingScript); }
void session_script_load(Session&, Words, ReplyWriter& reply) { reply.raw_error(kNoEngine); }

void session_script_exists(Session&, Words words, ReplyWriter& reply) {
  reply.array(words.size() - 2);
  for (std::size_t i = 2; i < words.size(); ++i) reply.integer(0);
}

void session_script_flush(Session&, Words words, ReplyWriter& reply) {
  const bool known =
      words.size() == 2 ||
      (words.size() == 3 && (equals_ignoring_case(words[2], "SYNC") || equals_ignoring_case(words[2], "ASYNC")));
  if (!known) return reply.raw_error("ERR SCRIPT FLUSH only support SYNC|ASYNC option");
  reply.status("OK");
}

void session_script_kill(Session&, Words, ReplyWriter& reply) {
  reply.raw_error("NOTBUSY No scripts in execution right now.");
}

void session_fcall(Session&, Words, ReplyWriter& reply) { reply.raw_error("ERR Function not found"); }
void session_fcall_ro(Session&, Words, ReplyWriter& reply) { reply.raw_error("ERR Function not found"); }
void session_function_list(Session&, Words, ReplyWriter& reply) { reply.array(0); }
void session_function_load(Session&, Words, ReplyWriter& reply) { reply.raw_error(kNoEngine); }

void session_keys(Session&, Words, ReplyWriter& reply) {
  reply.raw_error("ERR KEYS is not supported: it would stop everybody else; use SCAN or ITEM LIST");
}
void session_flushdb(Session&, Words, ReplyWriter& reply) { reply.raw_error(kFlush); }
void session_flushall(Session&, Words, ReplyWriter& reply) { reply.raw_error(kFlush); }

void session_lolwut(Session& session, Words, ReplyWriter& reply) {
  reply.verbatim(fmt::format("Holdfast ver. {} (Redis ver. {})\n", session.host().status().version, kRedisVersion));
}

}  // namespace holdfast
