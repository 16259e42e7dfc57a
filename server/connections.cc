#include "server/connections.h"

#include "protocol/check.h"
#include "server/log_stream_thread.h"
#include "server/options.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace holdfast {

Connections::Connections(Poller& poller, SessionHost& host, Hub& hub, Post& post)
    : Control(hub.monitors),
      poller_(poller),
      host_(host),
      hub_(hub),
      post_(post),
      stats_(host.telemetry().stats),
      buffer_(new char[kTurnBytesMax]) {}

Connections::~Connections() { close_all(); }

Connections::Connection* Connections::find(ConnectionKey key) noexcept {
  if (key.index >= table_.size() || generations_[key.index] != key.generation) return nullptr;
  return table_[key.index].get();
}

const Connections::Connection* Connections::find(ConnectionKey key) const noexcept {
  if (key.index >= table_.size() || generations_[key.index] != key.generation) return nullptr;
  return table_[key.index].get();
}

void Connections::on_ready(std::uint64_t tag, std::uint32_t events) {
  if (tag == kListenerTag) return accept_some();
  Connection* connection = find({static_cast<std::uint32_t>(tag), static_cast<std::uint32_t>(tag >> 32)});
  if (connection == nullptr) return;
  if ((events & EPOLLERR) != 0 || ((events & EPOLLHUP) != 0 && (connection->events & EPOLLIN) == 0)) {
    const bool lingers = connection->lingers_since != Millis{};
    return close(*connection, lingers ? connection->session.close_reason() : CloseReason::broken);
  }
  if (connection->lingers_since != Millis{}) return throw_input_away(*connection);
  if ((events & EPOLLOUT) != 0) mark_dirty(*connection);
  if ((events & (EPOLLIN | EPOLLHUP)) == 0) return;
  // Input stays with the system while some of it is still here: the peer is slowed down, and its end is seen last.
  if (connection->held_up || connection->session.closing()) return watch(*connection, connection->events & ~EPOLLIN);
  read(*connection);
}

// Input.

void Connections::read(Connection& connection) {
  const ssize_t size = recv(connection.socket.get(), buffer_.get(), kTurnBytesMax, 0);
  stats_.reads.add();
  if (size < 0) {
    if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) close(connection, CloseReason::broken);
    return;
  }
  if (size == 0) {
    // Commands that were executed are still answered: the peer may have closed only its own direction.
    connection.sends_no_more = true;
    connection.session.close(CloseReason::peer);
    end_log_request(connection, WaitEnd::answer);
    watch(connection, connection.events & ~EPOLLIN);
    return mark_dirty(connection);
  }
  stats_.input_bytes.add(static_cast<std::uint64_t>(size));
  connection.turn.heard = true;
  execute(connection, {buffer_.get(), static_cast<std::size_t>(size)});
}

/// Executes what is here and `fresh` behind it, for one turn. Input that is whole is not copied.
void Connections::execute(Connection& connection, std::string_view fresh) {
  Session::Turn turn;
  host_.begin_input();
  std::string& rest = connection.input;
  std::size_t done = 0;
  if (rest.empty()) {
    done = connection.session.receive(fresh, turn);
    rest.assign(fresh.substr(done));
    connection.input_begin = 0;
  } else {
    rest.append(fresh);
    done = connection.session.receive(std::string_view(rest).substr(connection.input_begin), turn);
    connection.input_begin += done;
    if (connection.input_begin == rest.size()) rest.clear();
    if (connection.input_begin >= kTurnBytesMax || rest.empty()) {
      rest.erase(0, connection.input_begin);
      connection.input_begin = 0;
    }
  }
  if (connection.session.reads_notices() && !std::exchange(connection.in_noticed, true)) {
    noticed_.push_back(connection.session.key());
  }
  if (rest.empty() && rest.capacity() > kKeptBufferBytesMax) std::string().swap(rest);  // assigning would keep it
  connection.turn.ended_command |= done > 0;
  mark_dirty(connection);
  const bool stopped =
      turn.commands == 0 || turn.bytes == 0 || !connection.session.wants_input() || !host_.has_credit();
  connection.held_up = stopped && !rest.empty() && !connection.session.closing();
  if (connection.held_up) hold_up(connection);
}

/// Puts a connection that stopped in the middle into the list for the next turn, if it may go on then.
void Connections::hold_up(Connection& connection) {
  if (connection.in_ready || !connection.session.wants_input()) return;
  connection.in_ready = true;
  ready_.push_back(connection.session.key());
}

void Connections::resume() {
  ask_notices();
  if (ready_.empty() || !host_.has_credit()) return;
  scratch_.swap(ready_);
  for (const ConnectionKey key : scratch_) {
    Connection* connection = find(key);
    if (connection == nullptr) continue;
    connection->in_ready = false;
    if (!connection->held_up) continue;
    execute(*connection, {});
    if (!connection->held_up) watch(*connection, connection->events | EPOLLIN);
  }
  scratch_.clear();
}

/// The next page of first notices for each connection that has taken the last one.
void Connections::ask_notices() {
  std::erase_if(noticed_, [&](ConnectionKey key) {
    Connection* connection = find(key);
    if (connection == nullptr) return true;
    if (connection->session.wants_notices() && host_.has_credit()) connection->session.ask_notices();
    connection->in_noticed = connection->session.reads_notices();
    return !connection->in_noticed;
  });
}

bool Connections::notices_wanted() const noexcept {
  return std::any_of(noticed_.begin(), noticed_.end(), [&](ConnectionKey key) {
    const Connection* connection = find(key);
    return connection != nullptr && connection->session.wants_notices();
  });
}

// Output.

void Connections::deliver(const Delivery& delivery) {
  for (const ConnectionKey key : delivery.connections) {
    Connection* found = find(key);
    if (found == nullptr) continue;
    found->session.push(delivery.kind, delivery.name, delivery.message);
    mark_dirty(*found);
  }
}

void Connections::answer_from(ShardIndex shard, ReplyAddress address, std::string_view bytes) {
  Connection* connection = find(address.connection);
  if (connection == nullptr) return;
  connection->session.answer_from(shard, address.slot, bytes);
  mark_dirty(*connection);
}

void Connections::answer(ReplyAddress address, std::string_view bytes) {
  Connection* connection = find(address.connection);
  if (connection == nullptr) return;
  const bool asked = connection->session.asks_log();
  connection->session.answer(address.slot, bytes);
  if (asked && !connection->session.asks_log()) --log_asked_;
  mark_dirty(*connection);
}

void Connections::mark_dirty(Connection& connection) {
  if (connection.in_dirty) return;
  connection.in_dirty = true;
  dirty_.push_back(connection.session.key());
}

void Connections::flush(Millis now) {
  for (const ConnectionKey key : dirty_) {
    Connection* connection = find(key);
    if (connection == nullptr) continue;
    connection->in_dirty = false;
    write(*connection, now);
  }
  dirty_.clear();
  stats_.connection_bytes.set(held_bytes_);
  if (holds_too_much()) evict();
}

/// Whether all connections hold more than they may, and those of this thread more than its share of that.
bool Connections::holds_too_much() const noexcept {
  const std::size_t most = host_.options().maxmemory_clients;
  if (most == 0 || held_bytes_ <= most / hub_.threads()) return false;
  return hub_.telemetry.sum([](const ThreadStats& stats) -> auto& { return stats.connection_bytes; }) > most;
}

void Connections::write(Connection& connection, Millis now) {
  if (connection.lingers_since != Millis{}) return;
  connection.active_at = now;
  if (connection.session.overflowed()) {
    host_.notice(fmt::format("{} is closed: more than {} bytes of messages wait for it", connection.session.address(),
                             kSubscriberBytesMax));
    return close(connection, CloseReason::subscriber);
  }
  if (connection.session.is_cut()) return close(connection, connection.session.close_reason());
  const std::string_view output = connection.session.output();
  std::size_t sent = 0;
  if (!output.empty()) {
    const ssize_t size = send(connection.socket.get(), output.data(), output.size(), MSG_NOSIGNAL);
    if (size < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) {
      return close(connection, CloseReason::broken);
    }
    stats_.writes.add();
    sent = size > 0 ? static_cast<std::size_t>(size) : 0;
    stats_.output_bytes.add(sent);
    connection.session.sent(sent);
  }
  if (connection.session.finished()) return finish(connection, now);
  const bool all = sent == output.size();
  if (all != ((connection.events & EPOLLOUT) == 0)) {
    watch(connection, all ? connection.events & ~static_cast<std::uint32_t>(EPOLLOUT) : connection.events | EPOLLOUT);
  }
  connection.turn.output_waits = !all;
  connection.turn.output_moved = sent > 0;
  if (connection.held_up) hold_up(connection);
  note_turn(connection, now);
}

/// What the turn means for its deadlines and for the memory of all.
void Connections::note_turn(Connection& connection, Millis now) {
  const Session& session = connection.session;
  ConnectionTurn& turn = connection.turn;
  turn.authenticated = session.authenticated();
  turn.in_command = !connection.input.empty() && !connection.held_up && !session.closing();
  turn.answering = session.unanswered() > 0;
  turn.listens = session.has_subscriptions() || session.monitors();
  turn.output_full = session.closing() || session.output_bytes() >= kOutputBytesMax;
  connection.deadlines.note(turn, now);
  turn = {};
  const std::size_t held = sizeof(Connection) + connection.input.capacity() + session.memory();
  held_bytes_ += held - connection.held_bytes;
  connection.held_bytes = held;
  count_buffers(connection, connection.input.capacity(), session.memory());
}

/// Closes the connections that hold most until the others hold no more than they may.
void Connections::evict() {
  while (holds_too_much()) {
    Connection* largest = nullptr;
    for (const auto& connection : table_) {
      if (connection == nullptr || connection->session.kept()) continue;
      if (largest == nullptr || connection->held_bytes > largest->held_bytes) largest = connection.get();
    }
    if (largest == nullptr) return;
    evicted_largest_ = fmt::format("{} (user {}) with {} bytes", largest->session.address(),
                                   largest->session.user().name, largest->held_bytes);
    close(*largest, CloseReason::evicted);
    stats_.connection_bytes.set(held_bytes_);
  }
}

void Connections::watch(Connection& connection, std::uint32_t events) {
  if (events == connection.events) return;
  connection.events = events;
  poller_.change(connection.socket.get(), tag(connection.session.key()), events);
}

void Connections::keep_time(Millis now) {
  end_pause();
  const Options& options = host_.options();
  Millis next = Millis::max();
  for (const auto& connection : table_) {
    if (connection == nullptr) continue;
    const bool lingers = connection->lingers_since != Millis{};
    const Millis due = lingers ? lingers_until(*connection) : connection->deadlines.due(options);
    if (due > now || (lingers && lingers_on(*connection, now))) {
      next = std::min(next, std::max(due, now));
      continue;
    }
    close(*connection, lingers ? connection->session.close_reason() : CloseReason::deadline);
  }
  attention_ = std::clamp(next - now, kDeadlineLateMax, kIdleSleep);
  const std::uint64_t evicted = stats_.connections_closed[static_cast<std::size_t>(CloseReason::evicted)].value();
  if (evicted == evicted_told_) return;
  host_.notice(fmt::format("connections hold more than maxmemory-clients, {} bytes: closed {}, the last one {}",
                           options.maxmemory_clients, evicted - evicted_told_, evicted_largest_));
  evicted_told_ = evicted;
}

// The end.

void Connections::count_buffers(Connection& connection, std::size_t input, std::size_t output) noexcept {
  stats_.input_buffer_bytes.add(input - std::exchange(connection.input_counted, input));
  stats_.output_buffer_bytes.add(output - std::exchange(connection.output_counted, output));
}

void Connections::close(Connection& connection, CloseReason reason) {
  const ConnectionKey key = connection.session.key();
  stats_.connections_closed[static_cast<std::size_t>(reason)].add();
  count_buffers(connection, 0, 0);
  hub_.admissions.leave(connection.session.host_address());
  held_bytes_ -= connection.held_bytes;
  if (connection.session.waits()) host_.forget(key);
  if (connection.session.asks_log()) {
    end_log_request(connection, WaitEnd::forget);
    --log_asked_;
  }
  connection.session.leave_channels();
  waits_.forget(key);
  if (connection.session.monitors()) monitor(key, false);
  poller_.remove(connection.socket.get());
  ++generations_[key.index];
  free_.push_back(key.index);
  table_[key.index] = nullptr;
  stats_.connections.set(--open_count_);
}

void Connections::drain() {
  if (draining_) return;
  draining_ = true;
  listener_.close();
  for (const auto& connection : table_) {
    if (connection == nullptr || connection->lingers_since != Millis{}) continue;
    connection->session.close(CloseReason::shutdown);
    connection->held_up = false;
    watch(*connection, connection->events & ~static_cast<std::uint32_t>(EPOLLIN));
    mark_dirty(*connection);
  }
}

void Connections::close_all() {
  listener_.close();
  for (const auto& connection : table_) {
    if (connection != nullptr) close(*connection, CloseReason::shutdown);
  }
}

}  // namespace holdfast
