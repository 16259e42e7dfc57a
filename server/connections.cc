#include "server/connections.h"

#include "protocol/check.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>

namespace holdfast {
namespace {

constexpr std::string_view kTooMany = "-ERR max number of clients reached\r\n";

std::string address_text(const sockaddr_storage& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (address.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
    inet_ntop(AF_INET, &v4.sin_addr, text.data(), text.size());
    return fmt::format("{}:{}", text.data(), ntohs(v4.sin_port));
  }
  const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address);
  inet_ntop(AF_INET6, &v6.sin6_addr, text.data(), text.size());
  return fmt::format("[{}]:{}", text.data(), ntohs(v6.sin6_port));
}

Session::Peer peer_of(int fd) {
  sockaddr_storage peer{}, local{};
  socklen_t peer_size = sizeof peer, local_size = sizeof local;
  const bool known = getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &peer_size) == 0 &&
                     getsockname(fd, reinterpret_cast<sockaddr*>(&local), &local_size) == 0;
  if (!known) return {"?:0", "?:0", fd};
  return {address_text(peer), address_text(local), fd};
}

}  // namespace

Connections::Connections(Poller& poller, SessionHost& host, std::uint32_t connections_max)
    : poller_(poller),
      host_(host),
      stats_(host.telemetry().stats),
      connections_max_(connections_max),
      buffer_(new char[kTurnBytesMax]) {}

Connections::~Connections() { close_all(); }

void Connections::listen(FileDescriptor listener) {
  listener_ = std::move(listener);
  listening_ = poller_.add(listener_.get(), kListenerTag, EPOLLIN);
  CHECK(listening_);
}

Connections::Connection* Connections::find(ConnectionKey key) noexcept {
  if (key.index >= table_.size() || generations_[key.index] != key.generation) return nullptr;
  return table_[key.index].get();
}

void Connections::on_ready(std::uint64_t tag, std::uint32_t events) {
  if (tag == kListenerTag) return accept_some();
  Connection* connection = find({static_cast<std::uint32_t>(tag), static_cast<std::uint32_t>(tag >> 32)});
  if (connection == nullptr) return;
  if ((events & EPOLLERR) != 0 || ((events & EPOLLHUP) != 0 && (connection->events & EPOLLIN) == 0)) {
    return close(*connection, CloseReason::broken);
  }
  if ((events & EPOLLOUT) != 0) mark_dirty(*connection);
  if ((events & (EPOLLIN | EPOLLHUP)) == 0) return;
  // Input stays with the system while some of it is still here: the peer is slowed down, and its end is seen last.
  if (connection->held_up || connection->session.closing()) return watch(*connection, connection->events & ~EPOLLIN);
  read(*connection);
}

// Accepting.

void Connections::accept_some() {
  for (int left = kAcceptsMax; left > 0; --left) {
    FileDescriptor socket(accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (socket.is_open()) {
      admit(std::move(socket));
      continue;
    }
    if (errno == EAGAIN || errno == EWOULDBLOCK) return;
    if (errno == EINTR || errno == ECONNABORTED || errno == EPROTO) continue;
    // Out of descriptors or memory: the listener would stay ready and this thread would spin.
    poller_.change(listener_.get(), kListenerTag, 0);
    listening_ = false;
    return;
  }
}

void Connections::admit(FileDescriptor socket) {
  stats_.connections_received.add();
  if (open_count_ >= connections_max_) {
    stats_.connections_rejected.add();
    send(socket.get(), kTooMany.data(), kTooMany.size(), MSG_NOSIGNAL);
    return;
  }
  const int on = 1;
  setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(table_.size()));
    table_.emplace_back();
    generations_.push_back(0);
  }
  const std::uint32_t index = free_.back();
  const ConnectionKey key{index, generations_[index]};
  if (!poller_.add(socket.get(), tag(key), EPOLLIN)) {
    stats_.connections_rejected.add();
    return;
  }
  free_.pop_back();
  const auto wall = std::chrono::duration_cast<Millis>(host_.read_clock().wall);
  table_[index] = std::make_unique<Connection>(key, next_id_++, peer_of(socket.get()), WallTime(wall), host_);
  table_[index]->socket = std::move(socket);
  table_[index]->events = EPOLLIN;
  stats_.connections.set(++open_count_);
}

// Input.

void Connections::read(Connection& connection) {
  const ssize_t size = recv(connection.socket.get(), buffer_.get(), kTurnBytesMax, 0);
  if (size < 0) {
    if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) close(connection, CloseReason::broken);
    return;
  }
  if (size == 0) {
    // Commands that were executed are still answered: the peer may have closed only its own direction.
    connection.sends_no_more = true;
    connection.session.close();
    watch(connection, connection.events & ~EPOLLIN);
    return mark_dirty(connection);
  }
  stats_.input_bytes.add(static_cast<std::uint64_t>(size));
  execute(connection, {buffer_.get(), static_cast<std::size_t>(size)});
}

/// Executes what is here and `fresh` behind it, for one turn. Input that is whole is not copied.
void Connections::execute(Connection& connection, std::string_view fresh) {
  Session::Turn turn;
  std::string& rest = connection.input;
  if (rest.empty()) {
    const std::size_t done = connection.session.receive(fresh, turn);
    rest.assign(fresh.substr(done));
    connection.input_begin = 0;
  } else {
    rest.append(fresh);
    connection.input_begin += connection.session.receive(std::string_view(rest).substr(connection.input_begin), turn);
    if (connection.input_begin == rest.size()) rest.clear();
    if (connection.input_begin >= kTurnBytesMax || rest.empty()) {
      rest.erase(0, connection.input_begin);
      connection.input_begin = 0;
    }
  }
  if (rest.empty() && rest.capacity() > kKeptBufferBytesMax) rest = {};
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

// Output.

void Connections::answer(ReplyAddress address, std::string_view bytes) {
  Connection* connection = find(address.connection);
  if (connection == nullptr) return;
  connection->session.answer(address.slot, bytes);
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
}

void Connections::write(Connection& connection, Millis now) {
  const std::string_view output = connection.session.output();
  std::size_t sent = 0;
  if (!output.empty()) {
    const ssize_t size = send(connection.socket.get(), output.data(), output.size(), MSG_NOSIGNAL);
    if (size < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)
      return close(connection, CloseReason::broken);
    sent = size > 0 ? static_cast<std::size_t>(size) : 0;
    stats_.output_bytes.add(sent);
    connection.session.sent(sent);
  }
  count_buffers(connection, connection.input.capacity(), connection.session.output_bytes());
  if (connection.session.finished()) return close(connection, reason_of(connection));
  const bool all = sent == output.size();
  if (all != ((connection.events & EPOLLOUT) == 0)) {
    watch(connection, all ? connection.events & ~static_cast<std::uint32_t>(EPOLLOUT) : connection.events | EPOLLOUT);
  }
  if (all || sent > 0) connection.stalled_since = all ? Millis{} : now;
  if (!all && connection.stalled_since == Millis{}) connection.stalled_since = now;
  if (connection.held_up) hold_up(connection);
}

void Connections::watch(Connection& connection, std::uint32_t events) {
  if (events == connection.events) return;
  connection.events = events;
  poller_.change(connection.socket.get(), tag(connection.session.key()), events);
}

void Connections::keep_time(Millis now) {
  if (listener_.is_open() && !listening_) {
    poller_.change(listener_.get(), kListenerTag, EPOLLIN);
    listening_ = true;
  }
  for (const auto& connection : table_) {
    if (connection == nullptr || connection->stalled_since == Millis{}) continue;
    if (connection->session.output_bytes() > kOutputBytesMax && now - connection->stalled_since >= kStalledOutput) {
      close(*connection, CloseReason::stalled);
    }
  }
}

// The end.

CloseReason Connections::reason_of(const Connection& connection) const noexcept {
  if (connection.sends_no_more) return CloseReason::peer;
  return draining_ ? CloseReason::shutdown : connection.session.close_reason();
}

void Connections::count_buffers(Connection& connection, std::size_t input, std::size_t output) noexcept {
  stats_.input_buffer_bytes.add(input - std::exchange(connection.input_counted, input));
  stats_.output_buffer_bytes.add(output - std::exchange(connection.output_counted, output));
}

void Connections::close(Connection& connection, CloseReason reason) {
  const ConnectionKey key = connection.session.key();
  stats_.connections_closed[static_cast<std::size_t>(reason)].add();
  count_buffers(connection, 0, 0);
  if (connection.session.waits()) host_.forget(key);
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
    if (connection == nullptr) continue;
    connection->session.close();
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
