#include "server/poller.h"

#include "protocol/check.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace holdfast {

FileDescriptor& FileDescriptor::operator=(FileDescriptor&& other) noexcept {
  if (this != &other) {
    close();
    fd_ = other.release();
  }
  return *this;
}

int FileDescriptor::release() noexcept { return std::exchange(fd_, -1); }

void FileDescriptor::close() noexcept {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

Poller::Poller() : epoll_(epoll_create1(EPOLL_CLOEXEC)) { CHECK(epoll_.is_open()); }

bool Poller::add(int fd, std::uint64_t tag, std::uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = tag;
  return epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0;
}

void Poller::change(int fd, std::uint64_t tag, std::uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = tag;
  CHECK(epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &event) == 0);
}

void Poller::remove(int fd) { CHECK(epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr) == 0); }

std::span<const epoll_event> Poller::wait(Millis timeout) {
  const int count = epoll_wait(epoll_.get(), events_.data(), kEventsMax, static_cast<int>(timeout.count()));
  CHECK(count >= 0 || errno == EINTR);
  return {events_.data(), count > 0 ? static_cast<std::size_t>(count) : 0};
}

Waker::Waker() : event_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) { CHECK(event_.is_open()); }

void Waker::drain() noexcept {
  std::uint64_t count = 0;
  [[maybe_unused]] const auto size = ::read(event_.get(), &count, sizeof count);
}

void Waker::wake() noexcept {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (!sleeping_.exchange(false, std::memory_order_seq_cst)) return;
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto size = ::write(event_.get(), &one, sizeof one);
}

}  // namespace holdfast
