#include "server/client_waits.h"

#include <algorithm>

namespace holdfast {

void ClientWaits::add(const ClientWait& wait, Millis now) {
  const Millis until = now + std::min(wait.timeout, kWaitMax);
  waits_.push_back({wait, until, false, {}});
  due_ = std::min(due_, now);  // it may be over already
}

bool ClientWaits::contains(ConnectionKey connection) const noexcept {
  return std::any_of(waits_.begin(), waits_.end(),
                     [&](const Waiting& waiting) { return waiting.wait.address.connection == connection; });
}

void ClientWaits::begin(Waiting& waiting, const LogPosition& log) {
  waiting.begun = true;
  waiting.target = log.written;
}

/// Its answer leaves behind those of everything asked before it, so that with --fsync always all of that is durable.
bool ClientWaits::has_local(const Waiting& waiting, const LogPosition& log) noexcept {
  return log.answers_are_durable || (waiting.begun && log.durable >= waiting.target);
}

ClientWaits::Answer ClientWaits::answer(const Waiting& waiting, const LogPosition& log) {
  Answer made{waiting.wait.address, {}};
  ReplyWriter reply(made.bytes, waiting.wait.version);
  if (waiting.wait.kind == ClientWait::Kind::save) {
    if (has_local(waiting, log)) {
      reply.status("OK");
    } else {
      reply.raw_error("ERR the log is not flushed yet; SAVE was ended before it was");
    }
    return made;
  }
  if (waiting.wait.kind == ClientWait::Kind::log) {
    reply.array(2);
    reply.integer(has_local(waiting, log) ? 1 : 0);
  }
  reply.integer(0);
  return made;
}

std::vector<ClientWaits::Answer> ClientWaits::take_over(Millis now, const LogPosition& log) {
  std::vector<Answer> over;
  due_ = Millis::max();
  std::erase_if(waits_, [&](const Waiting& waiting) {
    const bool met = !waiting.wait.replicas && (!waiting.wait.local || has_local(waiting, log));
    if (!met && waiting.until > now) {
      // The log does not say when it has flushed.
      const bool asks = waiting.wait.local && !has_local(waiting, log);
      due_ = std::min({due_, waiting.until, asks ? now + kSweepEvery : waiting.until});
      return false;
    }
    over.push_back(answer(waiting, log));
    return true;
  });
  return over;
}

std::vector<ClientWaits::Answer> ClientWaits::end(ConnectionKey connection, const LogPosition& log, bool with_error) {
  std::vector<Answer> ended;
  std::erase_if(waits_, [&](const Waiting& waiting) {
    if (waiting.wait.address.connection != connection) return false;
    ended.push_back(with_error ? Answer{waiting.wait.address, std::string(kUnblocked)} : answer(waiting, log));
    return true;
  });
  return ended;
}

std::vector<ClientWaits::Answer> ClientWaits::end_all(const LogPosition& log) {
  std::vector<Answer> ended;
  ended.reserve(waits_.size());
  for (const Waiting& waiting : waits_) ended.push_back(answer(waiting, log));
  waits_.clear();
  due_ = Millis::max();
  return ended;
}

void ClientWaits::forget(ConnectionKey connection) {
  std::erase_if(waits_, [&](const Waiting& waiting) { return waiting.wait.address.connection == connection; });
}

}  // namespace holdfast
