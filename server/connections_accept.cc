// How connections begin: accepted, counted, turned away, and what happens when there are no descriptors left.
#include "protocol/check.h"
#include "server/connections.h"
#include "server/options.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>

namespace holdfast {
namespace {

constexpr std::string_view kTooMany = "-ERR max number of clients reached\r\n";
constexpr std::string_view kTooManyFromThere = "-ERR max number of clients reached for this address\r\n";

FileDescriptor open_spare() { return FileDescriptor(open("/dev/null", O_RDONLY | O_CLOEXEC)); }

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

/// Without the port.
std::string_view host_of(std::string_view address) { return address.substr(0, address.rfind(':')); }

/// Small replies go at once; a peer that vanished without a word is found, also where silence is allowed.
void prepare(int socket) {
  const auto set = [socket](int level, int name, auto value) {
    const int number = static_cast<int>(value);
    setsockopt(socket, level, name, &number, sizeof number);
  };
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, kKeepAliveAfter.count());
  set(IPPROTO_TCP, TCP_KEEPINTVL, kKeepAliveEvery.count());
  set(IPPROTO_TCP, TCP_KEEPCNT, kKeepAliveProbes);
}

}  // namespace

void Connections::listen(FileDescriptor listener) {
  listener_ = std::move(listener);
  spare_ = open_spare();
  listening_ = poller_.add(listener_.get(), kListenerTag, EPOLLIN);
  CHECK(listening_);
}

void Connections::accept_some() {
  bool starved = false;
  for (int left = kAcceptsMax; left > 0; --left) {
    FileDescriptor socket(accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (socket.is_open()) {
      admit(std::move(socket));
      continue;
    }
    if (errno == EAGAIN || errno == EWOULDBLOCK) break;
    if (errno == EINTR || errno == ECONNABORTED || errno == EPROTO) continue;
    starved = true;
    if (!turn_away()) break;
  }
  if (starved) pause();
}

/// Out of descriptors: gives up the spare one to tell one peer that there is no room. False: that was not possible.
bool Connections::turn_away() {
  if (!spare_.is_open()) return false;
  spare_.close();
  FileDescriptor socket(accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  const bool taken = socket.is_open();
  if (taken) {
    stats_.connections_received.add();
    reject(socket, kTooMany);
    socket.close();
  }
  spare_ = open_spare();
  return taken;
}

/// Without descriptors or memory the listener would stay ready and this thread would spin.
void Connections::pause() {
  poller_.change(listener_.get(), kListenerTag, 0);
  listening_ = false;
}

void Connections::end_pause() {
  if (!listener_.is_open()) return;
  if (!spare_.is_open()) spare_ = open_spare();
  if (listening_) return;
  poller_.change(listener_.get(), kListenerTag, EPOLLIN);
  listening_ = true;
}

void Connections::reject(const FileDescriptor& socket, std::string_view why) {
  stats_.connections_rejected.add();
  send(socket.get(), why.data(), why.size(), MSG_NOSIGNAL);
}

/// Counts a connection and deals it to one of the threads.
void Connections::admit(FileDescriptor socket) {
  using Verdict = Admissions::Verdict;
  stats_.connections_received.add();
  const auto [address, local_address, fd] = peer_of(socket.get());
  const Options& options = host_.options();
  switch (hub_.admissions.admit(host_of(address), options.maxclients, options.maxclients_per_address)) {
    case Verdict::too_many:
      return reject(socket, kTooMany);
    case Verdict::too_many_from_there:
      return reject(socket, kTooManyFromThere);
    case Verdict::admitted:
      break;
  }
  prepare(socket.get());
  Newcomer newcomer{std::move(socket), hub_.admissions.next_id(), address, local_address};
  const ThreadIndex home(static_cast<std::uint16_t>(next_home_));
  next_home_ = (next_home_ + 1) % hub_.threads();
  if (home == post_.self()) return adopt(std::move(newcomer));
  post_.send(home, std::move(newcomer));
}

void Connections::adopt(Newcomer newcomer) {
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(table_.size()));
    table_.emplace_back();
    generations_.push_back(0);
  }
  const std::uint32_t index = free_.back();
  const ConnectionKey key{index, generations_[index]};
  if (draining_ || !poller_.add(newcomer.socket.get(), tag(key), EPOLLIN)) {
    hub_.admissions.leave(host_of(newcomer.address));
    return draining_ ? newcomer.socket.close() : reject(newcomer.socket, kTooMany);
  }
  const auto wall = std::chrono::duration_cast<Millis>(host_.read_clock().wall);
  Session::Peer peer{std::move(newcomer.address), std::move(newcomer.local_address), newcomer.socket.get()};
  auto connection = std::make_unique<Connection>(key, newcomer.id, std::move(peer), WallTime(wall), host_);
  free_.pop_back();
  connection->socket = std::move(newcomer.socket);
  connection->events = EPOLLIN;
  table_[index] = std::move(connection);
  stats_.connections.set(++open_count_);
  mark_dirty(*table_[index]);  // its deadlines begin with this turn
}

}  // namespace holdfast
