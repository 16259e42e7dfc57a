// The floor that CPU numbers are held against: an epoll loop that counts requests by the "*" that begins each and answers
// with ":-1". Nothing that must be done is left out, nothing that could be is done.
//
// usage: holdfast_floor PORT
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace {

constexpr std::string_view kReply = ":-1\r\n";
constexpr std::size_t kBufferBytes = 1 << 16;

int listen_on(int port) {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  const int on = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 || listen(fd, 1024) != 0) return -1;
  return fd;
}

void watch(int epoll, int fd) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = fd;
  epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
}

void accept_one(int epoll, int listener) {
  const int fd = accept4(listener, nullptr, nullptr, SOCK_NONBLOCK);
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  watch(epoll, fd);
}

void answer(int fd, std::vector<char>& buffer, const std::string& replies) {
  const ssize_t size = recv(fd, buffer.data(), buffer.size(), 0);
  if (size <= 0) {
    close(fd);
    return;
  }
  const auto requests = static_cast<std::size_t>(std::count(buffer.begin(), buffer.begin() + size, '*'));
  if (requests > 0) send(fd, replies.data(), std::min(requests * kReply.size(), replies.size()), MSG_NOSIGNAL);
}

}  // namespace

int main(int argc, char** argv) {
  const int listener = argc == 2 ? listen_on(std::atoi(argv[1])) : -1;
  if (listener < 0) return 1;
  const int epoll = epoll_create1(0);
  watch(epoll, listener);
  std::string replies;
  for (int i = 0; i < 4096; ++i) replies += kReply;
  std::vector<char> buffer(kBufferBytes);
  std::array<epoll_event, 256> events;
  for (;;) {
    const int ready = epoll_wait(epoll, events.data(), static_cast<int>(events.size()), -1);
    for (int i = 0; i < ready; ++i) {
      const int fd = events[static_cast<std::size_t>(i)].data.fd;
      if (fd == listener) {
        accept_one(epoll, listener);
      } else {
        answer(fd, buffer, replies);
      }
    }
  }
}
