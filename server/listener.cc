#include "server/listener.h"

#include <arpa/inet.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <system_error>

namespace holdfast {
namespace {

constexpr int kBacklog = 1024;

/// False: not a numeric address.
bool fill_address(const std::string& address, std::uint16_t port, sockaddr_storage& out, socklen_t& size) {
  auto& v4 = reinterpret_cast<sockaddr_in&>(out);
  if (inet_pton(AF_INET, address.c_str(), &v4.sin_addr) == 1) {
    v4.sin_family = AF_INET;
    v4.sin_port = htons(port);
    size = sizeof v4;
    return true;
  }
  auto& v6 = reinterpret_cast<sockaddr_in6&>(out);
  v6.sin6_family = AF_INET6;
  v6.sin6_port = htons(port);
  size = sizeof v6;
  return inet_pton(AF_INET6, address.c_str(), &v6.sin6_addr) == 1;
}

Error cannot(const std::string& address, std::uint16_t port, std::string_view prefix, int error) {
  if (error == EADDRINUSE) {
    return Error::format(ErrorCode::io_failed,
                         "{} port {} is already in use by another process; stop that one or choose another --{}port",
                         address, port, prefix);
  }
  return Error::format(ErrorCode::io_failed, "cannot listen on {} port {}: {}", address, port,
                       std::generic_category().message(error));
}

}  // namespace

Result<FileDescriptor> open_listener(const std::string& address, std::uint16_t port, std::string_view prefix) {
  sockaddr_storage where{};
  socklen_t size = 0;
  if (!fill_address(address, port, where, size)) {
    return Error::format(ErrorCode::bad_option, "{}bind: '{}' is not a numeric IPv4 or IPv6 address", prefix,
                         Echo(address).text());
  }
  FileDescriptor listener(socket(where.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!listener.is_open()) return cannot(address, port, prefix, errno);
  const int on = 1;
  setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (bind(listener.get(), reinterpret_cast<const sockaddr*>(&where), size) != 0)
    return cannot(address, port, prefix, errno);
  if (::listen(listener.get(), kBacklog) != 0) return cannot(address, port, prefix, errno);
  return listener;
}

}  // namespace holdfast
