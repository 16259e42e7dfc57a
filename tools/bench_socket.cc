#include "tools/bench_socket.h"

#include "tools/reply.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace holdfast {
namespace {

/// Sends AUTH and reads its one line; false when it is not +OK.
bool authenticate(int fd, const Credentials& credentials) {
  std::string request;
  append_request(request, {"AUTH", credentials.user, credentials.secret});
  if (send(fd, request.data(), request.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(request.size())) return false;
  std::string line;
  for (char byte = 0; !line.ends_with("\r\n"); line += byte) {
    if (recv(fd, &byte, 1, 0) != 1) return false;
  }
  errno = EACCES;
  return line == "+OK\r\n";
}

}  // namespace

Result<int> open_bench_socket(const std::string& host, std::uint16_t port, const Credentials& credentials) {
  const auto failed = [&] {
    return Error::format(ErrorCode::io_failed, "{}:{}: cannot connect: {}", host, port, std::strerror(errno));
  };
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  if (inet_pton(AF_INET, host.c_str(), &address.sin_addr) != 1) {
    return Error::format(ErrorCode::io_failed, "{} is no IPv4 address", host);
  }
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return failed();
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      (credentials.given() && !authenticate(fd, credentials))) {
    const Error error = failed();
    close(fd);
    return error;
  }
  return fd;
}

}  // namespace holdfast
