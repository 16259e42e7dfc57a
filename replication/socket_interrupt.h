// Ends what a thread waits for on a socket, from another thread. A shell of one mutex.
#pragma once

#include <sys/socket.h>

#include <mutex>

namespace holdfast {

class SocketInterrupt {
 public:
  SocketInterrupt() = default;
  SocketInterrupt(const SocketInterrupt&) = delete;
  SocketInterrupt& operator=(const SocketInterrupt&) = delete;

  /// Any thread: cuts off the socket that is watched, and from now on every other.
  void raise() {
    const std::lock_guard lock(mutex_);
    raised_ = true;
    if (fd_ >= 0) shutdown(fd_, SHUT_RDWR);
  }
  /// The socket to cut off, as long as it is open; -1: none. False when it was raised before.
  bool watch(int fd) {
    const std::lock_guard lock(mutex_);
    fd_ = raised_ ? -1 : fd;
    return !raised_;
  }

 private:
  std::mutex mutex_;  // of the members below
  int fd_ = -1;
  bool raised_ = false;
};

}  // namespace holdfast
