#include "tools/resp_client.h"

#include "protocol/names.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

namespace holdfast {
namespace {

Error failed(const std::string& server, std::string_view what) {
  return Error::format(ErrorCode::io_failed, "{}: {}", server, what);
}

std::string reason(int error) {
  if (error == EAGAIN || error == EWOULDBLOCK) return "no answer in time";
  return std::generic_category().message(error);
}

/// HOST:PORT into its parts; false when it is none.
bool split_server(const std::string& server, std::string& host, std::string& port) {
  const std::size_t colon = server.rfind(':');
  if (colon == std::string::npos || colon == 0) return false;
  host = server.substr(0, colon);
  port = server.substr(colon + 1);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  std::uint64_t number = 0;
  return parse_canonical(port, 65535, number) && number > 0;
}

/// False when it was raised: nothing is waited for any more.
bool watch(SocketInterrupt* interrupt, int fd) { return interrupt == nullptr || interrupt->watch(fd); }

int connect_to(const addrinfo& address, std::chrono::seconds timeout, SocketInterrupt* interrupt) {
  const int fd = socket(address.ai_family, address.ai_socktype | SOCK_CLOEXEC, address.ai_protocol);
  if (fd < 0) return -1;
  const timeval wait{static_cast<time_t>(timeout.count()), 0};
  const int on = 1;
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof wait);
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  const bool watched = watch(interrupt, fd);
  if (watched && ::connect(fd, address.ai_addr, address.ai_addrlen) == 0) return fd;
  const int error = watched ? errno : ECANCELED;
  watch(interrupt, -1);
  close(fd);
  errno = error;
  return -1;
}

}  // namespace

Result<void> check_server(const std::string& server) {
  std::string host, port;
  if (split_server(server, host, port)) return {};
  return Error::format(ErrorCode::bad_option, "the server '{}' is not HOST:PORT", Echo(server).text());
}

Result<std::unique_ptr<RespClient>> RespClient::connect(const std::string& server, std::chrono::seconds timeout,
                                                        const Credentials& credentials, SocketInterrupt* interrupt) {
  HOLDFAST_TRY(check_server(server));
  std::string host, port;
  split_server(server, host, port);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int code = getaddrinfo(host.c_str(), port.c_str(), &hints, &found); code != 0) {
    return failed(server, gai_strerror(code));
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> addresses(found, freeaddrinfo);
  int error = 0;
  for (const addrinfo* address = found; address != nullptr; address = address->ai_next) {
    const int fd = connect_to(*address, timeout, interrupt);
    error = errno;
    if (fd < 0) continue;
    std::unique_ptr<RespClient> client(new RespClient(fd, server, interrupt));
    HOLDFAST_TRY(client->greet(credentials));
    return client;
  }
  return failed(server, reason(error));
}

Result<void> RespClient::greet(const Credentials& credentials) {
  std::vector<std::string> words = {"HELLO", "3"};
  if (credentials.given()) words.insert(words.end(), {"AUTH", credentials.user, credentials.secret});
  const auto hello = ask(words);
  if (!hello) return hello.error();
  if (!hello->is_error()) return {};
  if (hello->text.starts_with("NOAUTH")) {
    return Error::format(ErrorCode::no_auth,
                         "{}: the server wants a user: --user NAME and --secret-file FILE, or HOLDFASTCTL_AUTH",
                         server_);
  }
  return Error::format(hello->text.starts_with("WRONGPASS") ? ErrorCode::wrong_pass : ErrorCode::io_failed, "{}: {}",
                       server_, Echo(hello->text).text());
}

RespClient::~RespClient() {
  watch(interrupt_, -1);
  close(fd_);
}

Result<void> RespClient::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t size = send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return failed(server_, reason(errno));
    bytes.remove_prefix(static_cast<std::size_t>(size));
  }
  return {};
}

Result<Reply> RespClient::ask(const std::vector<std::string>& words) {
  std::string request;
  append_request(request, words);
  HOLDFAST_TRY(write(request));
  return read();
}

Result<std::vector<Reply>> RespClient::ask_all(const std::vector<std::vector<std::string>>& requests) {
  std::string bytes;
  for (const auto& words : requests) append_request(bytes, words);
  HOLDFAST_TRY(write(bytes));
  std::vector<Reply> replies;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    auto reply = read();
    if (!reply) return reply.error();
    replies.push_back(std::move(*reply));
  }
  return replies;
}

Result<Reply> RespClient::read() {
  for (;;) {
    auto parsed = parse_reply(input_);
    if (!parsed) return parsed.error();
    if (parsed->has_value()) {
      input_.erase(0, (*parsed)->bytes);
      return std::move((*parsed)->reply);
    }
    std::array<char, 65536> piece;
    const ssize_t size = recv(fd_, piece.data(), piece.size(), 0);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return failed(server_, reason(errno));
    if (size == 0) return failed(server_, "the server closed the connection");
    input_.append(piece.data(), static_cast<std::size_t>(size));
  }
}

}  // namespace holdfast
