// LOG and the commands of Redis's streams. They are answered by the thread that reads the log, once everything that the
// connection asked before is answered.
#include "server/session.h"
#include "server/session_commands.h"

namespace holdfast {
namespace {

void ask_log(Session& session, CommandId id, Words words) {
  StreamRequest request;
  request.entry = &command_table()[static_cast<std::size_t>(id)];
  request.thread = session.host().thread();
  request.address = {session.key(), session.defer_to_log()};
  request.version = session.version();
  request.words.assign(words.begin(), words.end());
  session.host().control().ask_log(std::move(request));
}

}  // namespace

void session_log_read(Session& session, Words words, ReplyWriter&) { ask_log(session, CommandId::log_read, words); }
void session_log_ack(Session& session, Words words, ReplyWriter&) { ask_log(session, CommandId::log_ack, words); }
void session_log_sinks(Session& session, Words words, ReplyWriter&) { ask_log(session, CommandId::log_sinks, words); }
void session_log_snapshot(Session& session, Words words, ReplyWriter&) {
  ask_log(session, CommandId::log_snapshot, words);
}
void session_xread(Session& session, Words words, ReplyWriter&) { ask_log(session, CommandId::xread, words); }
void session_xrange(Session& session, Words words, ReplyWriter&) { ask_log(session, CommandId::xrange, words); }
void session_xlen(Session& session, Words words, ReplyWriter&) { ask_log(session, CommandId::xlen, words); }
void session_xinfo_stream(Session& session, Words words, ReplyWriter&) {
  ask_log(session, CommandId::xinfo_stream, words);
}

}  // namespace holdfast
