// A shell around epoll and eventfd: which of a thread's descriptors are ready, and waking a thread that sleeps.
// Level-triggered, so that a socket costs one call a turn for reading, one for writing and none for waiting.
#pragma once

#include "protocol/error.h"
#include "protocol/types.h"
#include "server/limits.h"

#include <sys/epoll.h>

#include <array>
#include <atomic>
#include <span>

namespace holdfast {

/// A file descriptor that is closed with its owner.
class FileDescriptor {
 public:
  FileDescriptor() noexcept = default;
  explicit FileDescriptor(int fd) noexcept : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(other.release()) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept;
  ~FileDescriptor() { close(); }
  int get() const noexcept { return fd_; }
  bool is_open() const noexcept { return fd_ >= 0; }
  int release() noexcept;
  void close() noexcept;

 private:
  int fd_ = -1;
};

class Poller {
 public:
  /// Stops the process when the system has no descriptor for it.
  Poller();

  /// Watches a descriptor; events carry the tag. `events` as epoll has them, 0 for none but errors. False when the
  /// system's limit is reached.
  [[nodiscard]] bool add(int fd, std::uint64_t tag, std::uint32_t events);
  void change(int fd, std::uint64_t tag, std::uint32_t events);
  void remove(int fd);
  /// Sleeps until something is ready or the time is over; at most kEventsMax events, valid until the next call.
  std::span<const epoll_event> wait(Millis timeout);

 private:
  FileDescriptor epoll_;
  std::array<epoll_event, kEventsMax> events_{};
};

/// Wakes a thread that sleeps in its poller, and costs nothing while it does not. The flag is checked again by both: the
/// sleeper sets it and then looks for work; the waker leaves work and then looks at the flag.
class Waker {
 public:
  Waker();
  int fd() const noexcept { return event_.get(); }
  /// The thread itself: about to sleep. It must look for work after this.
  void sleeps() noexcept { sleeping_.exchange(true, std::memory_order_seq_cst); }
  /// The thread itself: awake again.
  void wakes() noexcept { sleeping_.store(false, std::memory_order_relaxed); }
  /// The thread itself: empties the eventfd after it was ready.
  void drain() noexcept;
  /// Any thread, after it left work.
  void wake() noexcept;

 private:
  FileDescriptor event_;
  std::atomic<bool> sleeping_{false};
};

}  // namespace holdfast
