// What administrators and their tools ask of the whole server: MONITOR, SHUTDOWN, saving, waiting; and what a standalone
// server that keeps a log refuses.
#include "protocol/names.h"
#include "server/options.h"
#include "server/session.h"
#include "server/session_commands.h"

namespace holdfast {
namespace {

constexpr std::string_view kNoCluster = "ERR This instance has cluster support disabled";
constexpr std::string_view kNotPositive = "ERR value is out of range, must be positive";

/// A TIMEOUT in milliseconds; 0 means as long as may be. False: an error is written.
bool read_timeout(std::string_view word, Millis& timeout, ReplyWriter& reply) {
  std::int64_t milliseconds = 0;
  if (!parse_integer(word, milliseconds)) {
    return reply.raw_error("ERR timeout is not an integer or out of range"), false;
  }
  if (milliseconds < 0) return reply.raw_error("ERR timeout is negative"), false;
  timeout = milliseconds == 0 ? kWaitMax : std::min(Millis(milliseconds), kWaitMax);
  return true;
}

void begin_wait(Session& session, ClientWait wait) {
  wait.address = {session.key(), session.defer(true)};
  wait.version = session.version();
  session.host().control().wait(wait);
}

}  // namespace

void session_monitor(Session& session, Words, ReplyWriter& reply) {
  Control& control = session.host().control();
  if (!session.monitors() && !control.may_monitor()) {
    return reply.error(Error::format(ErrorCode::err, "{} connections monitor already", kMonitorsMax));
  }
  session.set_monitors(true);
  control.monitor(session.key(), true);
  reply.status("OK");
}

void session_shutdown(Session& session, Words words, ReplyWriter& reply) {
  bool save = false, no_save = false, abort = false, other = false;
  for (const std::string_view word : words.subspan(1)) {
    if (equals_ignoring_case(word, "SAVE")) {
      save = true;
    } else if (equals_ignoring_case(word, "NOSAVE")) {
      no_save = true;
    } else if (equals_ignoring_case(word, "ABORT")) {
      abort = true;
    } else if (equals_ignoring_case(word, "NOW") || equals_ignoring_case(word, "FORCE")) {
      other = true;
    } else {
      return reply.raw_error(kSyntaxError);
    }
  }
  if ((save && no_save) || (abort && (save || no_save || other))) return reply.raw_error(kSyntaxError);
  // One that is in progress executes no commands any more.
  if (abort) return reply.raw_error("ERR No shutdown in progress.");
  session.close(CloseReason::shutdown);
  session.host().control().shut_down();
}

// Saving. The log has every change already; all there is to do is to wait until it is flushed. Answers are Redis's, and
// LASTSAVE goes on by itself, so that a program that saves and waits for it ends.

void session_save(Session& session, Words, ReplyWriter&) {
  ClientWait wait;
  wait.kind = ClientWait::Kind::save;
  wait.local = true;
  wait.timeout = kWaitMax;
  begin_wait(session, wait);
}

void session_bgsave(Session& session, Words words, ReplyWriter& reply) {
  const bool schedule = words.size() == 2 && equals_ignoring_case(words[1], "SCHEDULE");
  if (words.size() > 2 || (words.size() == 2 && !schedule)) return reply.raw_error(kSyntaxError);
  SnapshotBoard& snapshots = session.host().snapshots();
  const bool running = snapshots.in_progress();
  if (running && !schedule) return reply.raw_error("ERR Background save already in progress");
  snapshots.ask();
  reply.status(running ? "Background saving scheduled" : "Background saving started");
}

void session_bgrewriteaof(Session&, Words, ReplyWriter& reply) {
  reply.status("Background append only file rewriting started");
}

void session_lastsave(Session& session, Words, ReplyWriter& reply) {
  reply.integer(to_ms(session.host().status().last_save) / 1000);
}

// Waiting.

void session_wait(Session& session, Words words, ReplyWriter& reply) {
  std::int64_t replicas = 0;
  ClientWait wait;
  if (!parse_integer(words[1], replicas)) return reply.raw_error(kNotInteger);
  if (!read_timeout(words[2], wait.timeout, reply)) return;
  if (replicas <= 0) return reply.integer(0);
  wait.replicas = true;
  begin_wait(session, wait);
}

void session_waitaof(Session& session, Words words, ReplyWriter& reply) {
  std::int64_t local = 0, replicas = 0;
  ClientWait wait;
  if (!parse_integer(words[1], local)) return reply.raw_error(kNotInteger);
  if (local < 0 || local > 1) return reply.raw_error("ERR value is out of range, value must between 0 and 1");
  if (!parse_integer(words[2], replicas) || replicas < 0) return reply.raw_error(kNotPositive);
  if (!read_timeout(words[3], wait.timeout, reply)) return;
  wait.kind = ClientWait::Kind::log;
  wait.local = local > 0;
  wait.replicas = replicas > 0;
  begin_wait(session, wait);
}

// Replication and clusters, which there are not.

void session_replicaof(Session&, Words words, ReplyWriter& reply) {
  if (equals_ignoring_case(words[1], "NO") && equals_ignoring_case(words[2], "ONE")) return reply.status("OK");
  reply.raw_error("ERR REPLICAOF is not supported: this server keeps its own log and follows no other");
}

void session_slaveof(Session& session, Words words, ReplyWriter& reply) { session_replicaof(session, words, reply); }

void session_failover(Session&, Words words, ReplyWriter& reply) {
  if (words.size() == 2 && equals_ignoring_case(words[1], "ABORT")) {
    return reply.raw_error("ERR No failover in progress.");
  }
  reply.raw_error("ERR FAILOVER requires connected replicas.");
}

void session_sync(Session&, Words, ReplyWriter& reply) {
  reply.raw_error("ERR SYNC is not supported: there is no replication");
}

void session_psync(Session&, Words, ReplyWriter& reply) {
  reply.raw_error("ERR PSYNC is not supported: there is no replication");
}

void session_cluster(Session&, Words, ReplyWriter& reply) { reply.raw_error(kNoCluster); }
void session_readonly(Session&, Words, ReplyWriter& reply) { reply.raw_error(kNoCluster); }
void session_readwrite(Session&, Words, ReplyWriter& reply) { reply.raw_error(kNoCluster); }
void session_asking(Session&, Words, ReplyWriter& reply) { reply.raw_error(kNoCluster); }

// What would stop everybody, or show what nobody should see.

void session_debug(Session&, Words, ReplyWriter& reply) {
  reply.raw_error("ERR DEBUG is not supported; ITEM VERIFY, INFO and holdfastctl look inside");
}

}  // namespace holdfast
