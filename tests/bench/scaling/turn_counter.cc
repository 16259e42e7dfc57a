// Put under holdfastd or holdfast-bench by LD_PRELOAD, this counts what costs a thread something and no other file tells:
// its calls of epoll_wait, those that found sockets ready, and how many threads it woke by an eventfd. The counts stand in the
// file that HOLDFAST_TURNS names, one Row for each thread, while the program runs; measure.py reads them. Any thread, each
// its own row.
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>

namespace {

/// As measure.py unpacks it.
struct Row {
  std::uint64_t thread;        // its id in the system
  std::uint64_t turns;         // calls of epoll_wait
  std::uint64_t socket_turns;  // those that found a socket ready
  std::uint64_t wakes;         // writes of 8 bytes: an eventfd's
};
constexpr std::size_t kRows = 64;
/// The loop's tags of what is no connection begin here.
constexpr std::uint64_t kForeignTags = UINT64_MAX - 16;

Row* open_rows() {
  const char* const path = std::getenv("HOLDFAST_TURNS");
  const int fd = path == nullptr ? -1 : open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0 || ftruncate(fd, kRows * sizeof(Row)) != 0) std::abort();
  void* const memory = mmap(nullptr, kRows * sizeof(Row), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) std::abort();
  close(fd);
  return static_cast<Row*>(memory);
}

/// This thread's.
Row& row() {
  static Row* all = open_rows();
  static std::atomic<std::size_t> used{0};
  thread_local Row* own = nullptr;
  if (own == nullptr) {
    const std::size_t index = used.fetch_add(1);
    if (index >= kRows) std::abort();
    own = all + index;
    own->thread = static_cast<std::uint64_t>(gettid());
  }
  return *own;
}

}  // namespace

// libc's headers name the parameters in their own way.
// NOLINTBEGIN(readability-inconsistent-declaration-parameter-name)

extern "C" int epoll_wait(int epoll, epoll_event* events, int most, int timeout) {
  const auto ready = static_cast<int>(syscall(SYS_epoll_wait, epoll, events, most, timeout));
  Row& own = row();
  ++own.turns;
  const auto is_socket = [](const epoll_event& event) { return event.data.u64 < kForeignTags; };
  if (ready > 0 && std::any_of(events, events + ready, is_socket)) ++own.socket_turns;
  return ready;
}

extern "C" ssize_t write(int fd, const void* bytes, size_t size) {
  if (size == sizeof(std::uint64_t)) ++row().wakes;
  return syscall(SYS_write, fd, bytes, size);
}

// NOLINTEND(readability-inconsistent-declaration-parameter-name)
