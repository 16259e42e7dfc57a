// MULTI, EXEC, DISCARD, WATCH, UNWATCH: what the connection knows of a transaction. The owner of the item executes it.
#include "server/session.h"
#include "server/session_commands.h"

#include <array>

namespace holdfast {

void session_multi(Session& session, Words, ReplyWriter& reply) {
  if (session.in_transaction()) return reply.raw_error("ERR MULTI calls can not be nested");
  session.transaction().begin();
  reply.status("OK");
}

void session_exec(Session& session, Words, ReplyWriter& reply) {
  if (!session.in_transaction()) return reply.raw_error("ERR EXEC without MULTI");
  Transaction& transaction = session.transaction();
  if (!transaction.is_aborted()) return session.send_to_owner(transaction.pack());
  transaction.clear();
  reply.raw_error("EXECABORT Transaction discarded because of previous errors.");
}

void session_discard(Session& session, Words, ReplyWriter& reply) {
  if (!session.in_transaction()) return reply.raw_error("ERR DISCARD without MULTI");
  session.transaction().clear();
  reply.status("OK");
}

void session_watch(Session& session, Words words, ReplyWriter& reply) {
  if (session.in_transaction()) return reply.raw_error("ERR WATCH inside MULTI is not allowed");
  Transaction& transaction = session.transaction();
  const auto watched = transaction.watch(words);
  if (!watched) return reply.error(watched.error());
  if (!*watched) return reply.status("OK");
  session.send_to_owner(transaction.watch_message());
}

void session_unwatch(Session& session, Words, ReplyWriter& reply) {
  session.transaction().unwatch();
  reply.status("OK");
}

}  // namespace holdfast
