// What commands ask of other connections: CLIENT LIST, KILL and UNBLOCK in small parts, MONITOR, WAIT and WAITAOF; and
// how a connection that is done leaves.
#include "protocol/check.h"
#include "server/connections.h"
#include "server/log_stream_thread.h"
#include "server/options.h"

#include <fmt/format.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

namespace holdfast {
namespace {

/// The lines in the order of the connections' ids, which is that of their beginnings.
std::string in_order(const std::string& lines, const std::vector<std::pair<std::uint64_t, std::size_t>>& ends) {
  struct Line {
    std::uint64_t id;
    std::string_view text;
  };
  std::vector<Line> sorted;
  sorted.reserve(ends.size());
  std::size_t begin = 0;
  for (const auto& [id, end] : ends) {
    sorted.push_back({id, std::string_view(lines).substr(begin, end - begin)});
    begin = end;
  }
  std::sort(sorted.begin(), sorted.end(), [](const Line& a, const Line& b) { return a.id < b.id; });
  std::string text;
  text.reserve(lines.size());
  for (const Line& line : sorted) text.append(line.text);
  return text;
}

}  // namespace

void Connections::order(ConnectionOrder order) {
  if (given_.size() >= kOrdersMax) {
    return answer(order.address, "-ERR too many CLIENT LIST, KILL and UNBLOCK wait; try again later\r\n");
  }
  const AskedOrder asked{order, post_.self(), next_ticket_++};
  given_.emplace(asked.ticket, GivenOrder{std::move(order), hub_.threads(), {}});
  post_.send_to_others(asked);
  take(asked);
}

void Connections::take(AskedOrder asked) {
  const std::uint64_t ticket = asked.ticket;
  orders_.push_back({std::move(asked), 0, {ticket, 0, {}, {}}});
}

void Connections::take(OrderPart part) {
  const auto found = given_.find(part.ticket);
  CHECK(found != given_.end() && found->second.missing > 0);
  OrderPart& sum = found->second.sum;
  const std::size_t before = sum.lines.size();
  sum.count += part.count;
  sum.lines += part.lines;
  for (const auto& [id, end] : part.ends) sum.ends.emplace_back(id, before + end);
  if (--found->second.missing > 0) return;
  answer_order(found->second);
  given_.erase(found);
}

void Connections::obey(Millis now, WallTime wall, const LogPosition& log) {
  look_at_waits(now, log);
  send_log_requests();
  stats_.client_waits.set(waits_.size() + log_asked_);
  for (std::size_t left = kOrderVisitsMax; left > 0 && !orders_.empty();) {
    OpenOrder& open = orders_.front();
    for (; left > 0 && open.next < table_.size(); --left, ++open.next) {
      if (table_[open.next] == nullptr) continue;
      Connection& connection = *table_[open.next];
      const ClientFacts known = facts(connection, now, wall);
      if (open.asked.order.filter.matches(known)) visit(connection, open, known, log);
    }
    if (open.next < table_.size()) return;
    const ThreadIndex asker = open.asked.asker;
    OrderPart part = std::move(open.part);
    orders_.pop_front();
    asker == post_.self() ? take(std::move(part)) : post_.send(asker, std::move(part));
  }
}

ClientFacts Connections::facts(const Connection& connection, Millis now, WallTime wall) const {
  ClientFacts facts = connection.session.facts(wall);
  // One that is dirty has done something in this turn.
  facts.idle_seconds = connection.in_dirty ? 0 : std::max<std::int64_t>(0, (now - connection.active_at).count() / 1000);
  facts.input_bytes = connection.input.size() - connection.input_begin;
  facts.input_free_bytes = connection.input.capacity() - connection.input.size();
  facts.watches_input = (connection.events & EPOLLIN) != 0;
  facts.watches_output = (connection.events & EPOLLOUT) != 0;
  facts.memory_bytes = sizeof connection + connection.input.capacity() + facts.output_buffer_bytes;
  return facts;
}

void Connections::visit(Connection& connection, OpenOrder& open, const ClientFacts& facts, const LogPosition& log) {
  using Kind = ConnectionOrder::Kind;
  if (connection.lingers_since != Millis{}) return;  // it is gone but for its last bytes
  OrderPart& part = open.part;
  switch (open.asked.order.kind) {
    case Kind::list:
      append_client_line(part.lines, facts);
      part.ends.emplace_back(facts.id, part.lines.size());
      if (part.lines.size() > kReplyBytesMax) open.next = table_.size() - 1;
      break;
    case Kind::kill_one:
      open.next = table_.size() - 1;
      kill(connection, log);
      break;
    case Kind::kill:
      kill(connection, log);
      break;
    case Kind::unblock:
    case Kind::unblock_fail:
      if (!unblock(connection, log, open.asked.order.kind == Kind::unblock_fail)) return;
      break;
  }
  ++part.count;
}

void Connections::kill(Connection& connection, const LogPosition& log) {
  connection.session.close(CloseReason::killed);
  connection.held_up = false;
  watch(connection, connection.events & ~static_cast<std::uint32_t>(EPOLLIN));
  unblock(connection, log, false);
  mark_dirty(connection);
}

bool Connections::unblock(Connection& connection, const LogPosition& log, bool with_error) {
  if (!connection.session.blocked()) return false;
  const ConnectionKey key = connection.session.key();
  if (waits_.contains(key)) {
    answer_all(waits_.end(key, log, with_error));
  } else if (connection.session.asks_log()) {
    end_log_request(connection, with_error ? WaitEnd::fail : WaitEnd::answer);
  } else {
    host_.end_waits(key, with_error ? WaitEnd::fail : WaitEnd::answer);
  }
  return true;
}

void Connections::answer_order(const GivenOrder& given) {
  using Kind = ConnectionOrder::Kind;
  const ConnectionOrder& order = given.order;
  std::string bytes;
  ReplyWriter reply(bytes, order.version);
  if (order.kind == Kind::list && given.sum.lines.size() > kReplyBytesMax) {
    reply.raw_error("ERR the connections do not fit in one reply; ask for some with CLIENT LIST ID");
  } else if (order.kind == Kind::list) {
    reply.verbatim(in_order(given.sum.lines, given.sum.ends));
  } else if (order.kind != Kind::kill_one) {
    reply.integer(static_cast<std::int64_t>(given.sum.count));
  } else if (given.sum.count > 0) {
    reply.status("OK");
  } else {
    reply.raw_error("ERR No such client");
  }
  answer(order.address, bytes);
}

// MONITOR.

void Connections::monitor(ConnectionKey connection, bool on) {
  hub_.monitors.fetch_sub(static_cast<std::uint32_t>(std::erase(monitors_, connection)));
  if (!on) return;
  monitors_.push_back(connection);
  hub_.monitors.fetch_add(1);
}

void Connections::tell_monitors(std::string_view line) {
  const MonitorLine told{std::string(line)};
  if (hub_.monitors.load() > monitors_.size()) post_.send_to_others(told);
  show(told);
}

void Connections::show(const MonitorLine& line) {
  for (const ConnectionKey key : monitors_) {
    Connection* monitor = find(key);
    CHECK(monitor != nullptr);
    if (monitor->session.closing()) continue;
    monitor->session.show(line.text);
    if (monitor->session.output_bytes() > kMonitorBytesMax) monitor->session.cut();
    mark_dirty(*monitor);
  }
}

// WAIT and WAITAOF.

void Connections::look_at_waits(Millis now, const LogPosition& log) {
  for (const ClientWait& wait : new_waits_) {
    if (find(wait.address.connection) != nullptr) waits_.add(wait, now);
  }
  new_waits_.clear();
  if (waits_.empty()) return;
  if (draining_) return answer_all(waits_.end_all(log));
  if (log.answers_are_durable && waits_.next_due() > now) return;
  answer_all(waits_.look(now, log, [this](ConnectionKey key) { return find(key)->session.unanswered() == 1; }));
}

void Connections::answer_all(const std::vector<ClientWaits::Answer>& answers) {
  for (const ClientWaits::Answer& made : answers) answer(made.address, made.bytes);
}

// Commands about the log.

void Connections::ask_log(StreamRequest request) {
  ++log_asked_;
  log_requests_.push_back(std::move(request));
}

/// What a connection asked before is answered first: then it is in the log as far as it ever will be.
void Connections::send_log_requests() {
  std::erase_if(log_requests_, [this](StreamRequest& request) {
    const Connection* connection = find(request.address.connection);
    if (connection == nullptr) return true;
    if (connection->session.unanswered() > 1) return false;
    hub_.log_stream->ask(std::move(request));
    return true;
  });
}

/// REQUIRES: it asks_log(), or it does not matter.
void Connections::end_log_request(const Connection& connection, WaitEnd how) {
  if (connection.session.asks_log()) hub_.log_stream->end(post_.self(), connection.session.key(), how);
}

// Leaving.

/// Everything is answered and sent. While its peer may still be sending, closing would reset the connection and the last
/// replies could be lost on their way: then it says that it is done and throws the rest away, for a while.
void Connections::finish(Connection& connection, Millis now) {
  int unread = 0, unsent = 0;
  const int fd = connection.socket.get();
  const bool known = ioctl(fd, FIONREAD, &unread) == 0 && ioctl(fd, SIOCOUTQ, &unsent) == 0;
  if (connection.sends_no_more || (known && unread == 0 && unsent == 0)) {
    return close(connection, connection.session.close_reason());
  }
  shutdown(fd, SHUT_WR);
  connection.unsent_bytes = unsent;
  connection.lingers_since = std::max(now, Millis{1});
  watch(connection, EPOLLIN);
}

Millis Connections::lingers_until(const Connection& connection) const {
  return connection.lingers_since + (connection.unsent_bytes > 0 ? host_.options().write_timeout : kLingerMax);
}

/// Whether the peer of a connection that lingers has taken something since the last look.
bool Connections::lingers_on(Connection& connection, Millis now) {
  int unsent = 0;
  if (ioctl(connection.socket.get(), SIOCOUTQ, &unsent) != 0 || unsent >= connection.unsent_bytes) return false;
  connection.unsent_bytes = unsent;
  connection.lingers_since = now;
  return true;
}

void Connections::throw_input_away(Connection& connection) {
  const ssize_t size = recv(connection.socket.get(), buffer_.get(), kTurnBytesMax, 0);
  if (size > 0 || (size < 0 && (errno == EAGAIN || errno == EINTR))) return;
  close(connection, connection.session.close_reason());
}

}  // namespace holdfast
