#include "tools/bench_sale.h"

#include "tools/bench_socket.h"

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <deque>
#include <memory>
#include <vector>

namespace holdfast {
namespace {

using SteadyClock = std::chrono::steady_clock;
using std::chrono::nanoseconds;

constexpr std::size_t kReadBytes = 1 << 16;
constexpr nanoseconds kSilence = std::chrono::seconds(10);
constexpr nanoseconds kProgressEvery = std::chrono::milliseconds(250);
constexpr std::array<std::string_view, SaleResult::kReasons> kReasonNames = {
    "sold out", "limit reached", "not open yet", "closed", "paused", "not eligible", "bad token", "id has ended"};

struct Connection {
  int fd = -1;
  std::string unsent;
  std::string unread;             // of a reply that is not whole yet
  std::deque<nanoseconds> users;  // when those came who wait for an answer, since the beginning
};

class Sale {
 public:
  Sale(const SaleLoad& load, const std::function<void(const SaleProgress&)>& progress)
      : load_(load), progress_(progress), connections_(load.connections) {}
  ~Sale() {
    for (const Connection& connection : connections_) {
      if (connection.fd >= 0) close(connection.fd);
    }
    close(epoll_);
  }
  Sale(const Sale&) = delete;
  Sale& operator=(const Sale&) = delete;

  Result<void> connect_all();
  Result<SaleResult> run();

 private:
  nanoseconds now() const { return SteadyClock::now() - began_; }
  void let_come(nanoseconds now);
  void ask(Connection& connection, std::uint64_t user);
  bool write(Connection& connection);
  bool read(Connection& connection);
  bool answer(Connection& connection, std::string_view line, nanoseconds now);
  bool turn();
  void tell(nanoseconds now);

  const SaleLoad& load_;
  const std::function<void(const SaleProgress&)>& progress_;
  std::vector<Connection> connections_;
  int epoll_ = epoll_create1(EPOLL_CLOEXEC);
  std::unique_ptr<char[]> buffer_ = std::make_unique<char[]>(kReadBytes);
  SteadyClock::time_point began_;
  std::uint64_t came_ = 0;
  std::uint64_t answered_ = 0;
  nanoseconds last_answer_{};
  nanoseconds told_{};
  SaleResult result_;
};

Result<void> Sale::connect_all() {
  for (std::size_t i = 0; i < connections_.size(); ++i) {
    auto opened = open_bench_socket(load_.host, load_.port, load_.credentials);
    if (!opened) return opened.error();
    connections_[i].fd = *opened;
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = i;
    epoll_ctl(epoll_, EPOLL_CTL_ADD, connections_[i].fd, &event);
  }
  return {};
}

/// All whose time has come, over the connections in turn.
void Sale::let_come(nanoseconds now) {
  const double due = std::chrono::duration<double>(now).count() * static_cast<double>(load_.users_per_second);
  const std::uint64_t until = std::min(load_.users, static_cast<std::uint64_t>(due) + 1);
  const double each = 1e9 / static_cast<double>(load_.users_per_second);
  for (; came_ < until; ++came_) {
    Connection& connection = connections_[came_ % connections_.size()];
    connection.users.emplace_back(static_cast<std::int64_t>(static_cast<double>(came_) * each));
    ask(connection, came_);
  }
}

void Sale::ask(Connection& connection, std::uint64_t user) {
  const std::string name = fmt::format("{}", 1'000'000'000'000U + load_.seed * 1'000'000'000U + user);
  fmt::format_to(
      std::back_inserter(connection.unsent),
      "*5\r\n$7\r\nRESERVE\r\n${}\r\n{}\r\n${}\r\n{}\r\n$2\r\nID\r\n$36\r\n{:08x}-0000-4000-8000-{:012x}\r\n",
      load_.item.size(), load_.item, name.size(), name, load_.seed & 0xffffffffU, user);
}

bool Sale::write(Connection& connection) {
  if (connection.unsent.empty()) return true;
  const ssize_t sent =
      send(connection.fd, connection.unsent.data(), connection.unsent.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent < 0) return errno == EAGAIN || errno == EINTR;
  connection.unsent.erase(0, static_cast<std::size_t>(sent));
  return true;
}

bool Sale::read(Connection& connection) {
  const ssize_t size = recv(connection.fd, buffer_.get(), kReadBytes, MSG_DONTWAIT);
  if (size < 0) return errno == EAGAIN || errno == EINTR;
  if (size == 0) return false;
  connection.unread.append(buffer_.get(), static_cast<std::size_t>(size));
  const nanoseconds at = now();
  std::size_t begin = 0;
  for (std::size_t end; (end = connection.unread.find("\r\n", begin)) != std::string::npos; begin = end + 2) {
    if (!answer(connection, std::string_view(connection.unread).substr(begin, end - begin), at)) return false;
  }
  connection.unread.erase(0, begin);
  return true;
}

bool Sale::answer(Connection& connection, std::string_view line, nanoseconds now) {
  if (connection.users.empty() || line.empty()) return false;
  result_.latency.add(static_cast<std::uint64_t>(std::max<std::int64_t>((now - connection.users.front()).count(), 0)));
  connection.users.pop_front();
  ++answered_;
  last_answer_ = now;
  if (line.front() == '-') {
    if (result_.errors++ == 0) result_.first_error = line.substr(1);
    return true;
  }
  std::int64_t number = 0;
  const auto [end, ec] = std::from_chars(line.data() + 1, line.data() + line.size(), number);
  if (line.front() != ':' || ec != std::errc() || number < -static_cast<std::int64_t>(SaleResult::kReasons))
    return false;
  if (number >= 0) {
    ++result_.sold;
    result_.last_unit = now;
  } else {
    ++result_.refused[static_cast<std::size_t>(-number - 1)];
  }
  return true;
}

/// False when a connection is not as it should be, or nothing comes any more.
bool Sale::turn() {
  const nanoseconds at = now();
  let_come(at);
  for (Connection& connection : connections_) {
    if (!write(connection)) return false;
  }
  std::array<epoll_event, 64> events;
  const int ready = epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), 1);
  for (int i = 0; i < ready; ++i) {
    if (!read(connections_[events[static_cast<std::size_t>(i)].data.u64])) return false;
  }
  if (at - told_ >= kProgressEvery) tell(at);
  return at - last_answer_ < kSilence;
}

void Sale::tell(nanoseconds now) {
  told_ = now;
  if (progress_) progress_({now, came_, answered_, result_.sold});
}

Result<SaleResult> Sale::run() {
  began_ = SteadyClock::now();
  while (answered_ < load_.users) {
    if (!turn()) {
      return Error::format(
          ErrorCode::io_failed,
          "the server closed a connection, was silent for 10 s, or sent something else than an integer; "
          "{} of {} users have their answers",
          answered_, load_.users);
    }
  }
  result_.wall = now();
  tell(result_.wall);
  return result_;
}

}  // namespace

std::string_view refusal_reason(std::size_t index) noexcept { return kReasonNames[index]; }

Result<SaleResult> run_sale(const SaleLoad& load, const std::function<void(const SaleProgress&)>& progress) {
  Sale sale(load, progress);
  HOLDFAST_TRY(sale.connect_all());
  return sale.run();
}

}  // namespace holdfast
