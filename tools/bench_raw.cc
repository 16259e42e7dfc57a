#include "tools/bench_raw.h"

#include "tools/bench_socket.h"

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <random>
#include <thread>

namespace holdfast {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr std::string_view kRandom = "__rand_int__";
constexpr std::string_view kSequence = "__seq__";
constexpr std::size_t kDigits = 12;
constexpr std::size_t kReadBytes = 1 << 16;

/// The words of one request as bytes, and where numbers are to be written.
struct Template {
  std::string bytes;
  std::vector<std::size_t> randoms;
  std::vector<std::size_t> sequences;
};

Template make_template(const std::vector<std::string>& words) {
  Template made;
  made.bytes = fmt::format("*{}\r\n", words.size());
  for (std::string word : words) {
    std::vector<std::size_t> randoms, sequences;
    for (std::size_t at = 0; (at = word.find("__", at)) != std::string::npos;) {
      const bool random = word.compare(at, kRandom.size(), kRandom) == 0;
      const bool sequence = word.compare(at, kSequence.size(), kSequence) == 0;
      if (random || sequence) {
        (random ? randoms : sequences).push_back(at);
        word.replace(at, random ? kRandom.size() : kSequence.size(), std::string(kDigits, '0'));
      }
      at += 2;
    }
    made.bytes += fmt::format("${}\r\n", word.size());
    for (const std::size_t at : randoms) made.randoms.push_back(made.bytes.size() + at);
    for (const std::size_t at : sequences) made.sequences.push_back(made.bytes.size() + at);
    made.bytes.append(word).append("\r\n");
  }
  return made;
}

/// Twelve digits, the first one never 0: a canonical number.
void write_number(char* at, std::uint64_t number) {
  number = number % 900'000'000'000U + 100'000'000'000U;
  for (std::size_t i = kDigits; i > 0; --i, number /= 10) at[i - 1] = static_cast<char>('0' + number % 10);
}

struct Connection {
  int fd = -1;
  std::string batch;         // `pipeline` requests
  std::size_t sent = 0;      // bytes of it
  std::size_t in_batch = 0;  // requests of the batch on its way
  std::uint64_t unanswered = 0;
  SteadyClock::time_point began;
  ReplyCounter replies;
};

/// The connections of one thread.
class Worker {
 public:
  Worker(const RawLoad& load, const Template& request, std::uint32_t connections, std::uint64_t seed,
         std::atomic<std::uint64_t>& left, std::atomic<std::uint64_t>& sequence)
      : load_(load), request_(request), connections_(connections), random_(seed), left_(left), sequence_(sequence) {}

  ~Worker() {
    for (const Connection& connection : connections_) close(connection.fd);
    for (const int fd : silent_) close(fd);
    close(epoll_);
  }

  Result<void> connect_all() {
    for (std::size_t i = 0; i < connections_.size(); ++i) {
      Connection& connection = connections_[i];
      for (std::uint32_t n = 0; n < load_.silent; ++n) {
        const auto silent = open_bench_socket(load_.host, load_.port, load_.credentials);
        if (!silent) return silent.error();
        silent_.push_back(*silent);
      }
      const auto opened = open_bench_socket(load_.host, load_.port, load_.credentials);
      if (!opened) return opened.error();
      connection.fd = *opened;
      for (std::uint32_t n = 0; n < load_.pipeline; ++n) connection.batch += request_.bytes;
      epoll_event event{};
      event.events = EPOLLIN;
      event.data.u64 = i;
      epoll_ctl(epoll_, EPOLL_CTL_ADD, connection.fd, &event);
    }
    return {};
  }

  void run() {
    for (Connection& connection : connections_) begin_batch(connection);
    std::array<epoll_event, 64> events;
    while (active_ > 0 && !failed_) {
      const int ready = epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), 10'000);
      if (ready == 0) failed_ = true;
      for (int i = 0; i < ready; ++i) read(connections_[events[static_cast<std::size_t>(i)].data.u64]);
    }
  }

  bool failed() const noexcept { return failed_; }
  const Histogram& latency() const noexcept { return latency_; }
  ReplyCounter::Counts counts() const {
    ReplyCounter::Counts sum;
    for (const Connection& connection : connections_) {
      const auto& counts = connection.replies.counts();
      sum.replies += counts.replies;
      sum.successes += counts.successes;
      sum.refusals += counts.refusals;
      sum.errors += counts.errors;
    }
    return sum;
  }

 private:
  /// Takes requests from what is left of the run and writes them.
  void begin_batch(Connection& connection) {
    std::uint64_t left = left_.load(std::memory_order_relaxed);
    std::uint64_t take = 0;
    do {
      take = std::min<std::uint64_t>(left, load_.pipeline);
    } while (take > 0 && !left_.compare_exchange_weak(left, left - take));
    if (take == 0) return;
    fill(connection, take);
    connection.in_batch = connection.unanswered = take;
    ++active_;
    connection.began = SteadyClock::now();
    const std::size_t size = take * request_.bytes.size();
    for (std::size_t sent = 0; sent < size;) {
      const ssize_t done = send(connection.fd, connection.batch.data() + sent, size - sent, MSG_NOSIGNAL);
      if (done <= 0) {
        failed_ = true;
        return;
      }
      sent += static_cast<std::size_t>(done);
    }
  }

  void fill(Connection& connection, std::uint64_t count) {
    const std::uint64_t first = request_.sequences.empty() ? 0 : sequence_.fetch_add(count, std::memory_order_relaxed);
    for (std::uint64_t n = 0; n < count; ++n) {
      char* const bytes = connection.batch.data() + n * request_.bytes.size();
      for (const std::size_t at : request_.randoms) write_number(bytes + at, random_() % load_.keyspace);
      for (const std::size_t at : request_.sequences) write_number(bytes + at, first + n);
    }
  }

  void read(Connection& connection) {
    const ssize_t size = recv(connection.fd, buffer_.get(), kReadBytes, MSG_DONTWAIT);
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (size <= 0) {
      failed_ = true;
      return;
    }
    const std::uint64_t whole = connection.replies.feed({buffer_.get(), static_cast<std::size_t>(size)});
    failed_ = failed_ || connection.replies.broken() || whole > connection.unanswered;
    if (failed_) return;
    if (whole > 0) {
      const auto late = static_cast<std::uint64_t>((SteadyClock::now() - connection.began).count());
      for (std::uint64_t i = 0; i < whole; ++i) latency_.add(late);
    }
    connection.unanswered -= whole;
    if (connection.unanswered > 0 || connection.in_batch == 0) return;
    connection.in_batch = 0;
    --active_;
    begin_batch(connection);
  }

  const RawLoad& load_;
  const Template& request_;
  std::vector<Connection> connections_;
  std::vector<int> silent_;
  std::mt19937_64 random_;
  std::atomic<std::uint64_t>& left_;
  std::atomic<std::uint64_t>& sequence_;
  int epoll_ = epoll_create1(EPOLL_CLOEXEC);
  std::size_t active_ = 0;
  bool failed_ = false;
  Histogram latency_;
  std::unique_ptr<char[]> buffer_ = std::make_unique<char[]>(kReadBytes);
};

void run_all(std::vector<std::unique_ptr<Worker>>& workers) {
  std::vector<std::thread> threads;
  for (std::size_t i = 1; i < workers.size(); ++i) threads.emplace_back([&worker = *workers[i]] { worker.run(); });
  workers[0]->run();
  for (std::thread& thread : threads) thread.join();
}

}  // namespace

double process_cpu_seconds(int pid) {
  std::FILE* const file = std::fopen(fmt::format("/proc/{}/stat", pid).c_str(), "re");
  if (file == nullptr) return -1;
  std::array<char, 1024> text{};
  const std::size_t size = std::fread(text.data(), 1, text.size() - 1, file);
  std::fclose(file);
  text[size] = '\0';
  // The name in parentheses may hold anything; utime and stime are the 12th and 13th fields behind it.
  const char* const behind = std::strrchr(text.data(), ')');
  unsigned long long user = 0, system = 0;
  if (behind == nullptr ||
      std::sscanf(behind + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu", &user, &system) != 2) {
    return -1;
  }
  return static_cast<double>(user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

Result<RawResult> run_raw(const RawLoad& load) {
  const Template request = make_template(load.words);
  std::atomic<std::uint64_t> left{load.requests};
  std::atomic<std::uint64_t> sequence{0};
  std::vector<std::unique_ptr<Worker>> workers;
  for (std::uint32_t i = 0; i < load.threads; ++i) {
    const std::uint32_t share = load.connections / load.threads + (i < load.connections % load.threads ? 1 : 0);
    workers.push_back(std::make_unique<Worker>(load, request, share, load.seed + i, left, sequence));
    HOLDFAST_TRY(workers.back()->connect_all());
  }
  const double server_before = load.server_pid > 0 ? process_cpu_seconds(load.server_pid) : 0;
  const double client_before = process_cpu_seconds(getpid());
  const auto began = SteadyClock::now();
  run_all(workers);
  RawResult result;
  result.wall = SteadyClock::now() - began;
  result.client_cpu_seconds = process_cpu_seconds(getpid()) - client_before;
  if (load.server_pid > 0) result.server_cpu_seconds = process_cpu_seconds(load.server_pid) - server_before;
  for (const auto& worker : workers) {
    if (worker->failed())
      return Error(ErrorCode::io_failed, "the server closed a connection, was silent for 10 s, or sent no replies");
    result.latency += worker->latency();
    const auto counts = worker->counts();
    result.counts.replies += counts.replies;
    result.counts.successes += counts.successes;
    result.counts.refusals += counts.refusals;
    result.counts.errors += counts.errors;
  }
  return result;
}

}  // namespace holdfast
