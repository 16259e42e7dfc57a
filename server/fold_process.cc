#include "server/fold_process.h"

#include "protocol/check.h"
#include "server/fold.h"
#include "storage/posix_file_system.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <new>
#include <vector>

extern char** environ;

namespace holdfast {
namespace {

// Low, but it goes on where the server leaves nothing idle.
constexpr int kLowPriority = 10;                  // a tenth of what a thread of the server gets
constexpr int kLastOfBestEffort = (2 << 13) | 7;  // IOPRIO_CLASS_BE
constexpr int kWhoProcess = 1;                    // IOPRIO_WHO_PROCESS
constexpr std::size_t kWordsMax = 400;

/// None of these is worth more than a try: a container may forbid each.
void become_humble(bool hurries) {
  if (!hurries) {
    static_cast<void>(::setpriority(PRIO_PROCESS, 0, kLowPriority));
    static_cast<void>(::syscall(SYS_ioprio_set, kWhoProcess, 0, kLastOfBestEffort));
  }
  if (std::FILE* file = std::fopen("/proc/self/oom_score_adj", "we")) {
    static_cast<void>(std::fputs("1000", file));
    std::fclose(file);
  }
}

/// What it has so far does not count: under a sanitizer that is more than any machine has.
void limit_memory(std::uint64_t bytes) {
  unsigned long long pages = 0;
  std::FILE* file = std::fopen("/proc/self/statm", "re");
  if (bytes == 0 || file == nullptr) return;
  const bool read = std::fscanf(file, "%*u %*u %*u %*u %*u %llu", &pages) == 1;
  std::fclose(file);
  if (!read) return;
  const rlim_t most = pages * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE)) + bytes;
  const rlimit limit{most, most};
  static_cast<void>(::setrlimit(RLIMIT_DATA, &limit));
}

Error call_failed(std::string_view call, int number) {
  return Error::format(ErrorCode::io_failed, "{}: {}", call, std::strerror(number));
}

/// What holdfastd is told so that it folds.
std::vector<std::string> arguments(const FoldTask& task) {
  return {"holdfastd",
          "--fold",
          std::to_string(task.through.value()),
          "--fold-parent",
          std::to_string(task.parent),
          "--fold-memory",
          std::to_string(task.memory_bytes),
          "--fold-hurries",
          task.hurries ? "1" : "0",
          "--data-dir",
          task.directory};
}

class SpawnSettings {
 public:
  explicit SpawnSettings(int output) {
    CHECK(posix_spawn_file_actions_init(&actions_) == 0 && posix_spawnattr_init(&attributes_) == 0);
    CHECK(posix_spawn_file_actions_adddup2(&actions_, output, STDERR_FILENO) == 0);
    sigset_t none, defaults;
    sigemptyset(&none);
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGPIPE);
    CHECK(posix_spawnattr_setsigmask(&attributes_, &none) == 0);
    CHECK(posix_spawnattr_setsigdefault(&attributes_, &defaults) == 0);
    CHECK(posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF) == 0);
  }
  ~SpawnSettings() {
    posix_spawn_file_actions_destroy(&actions_);
    posix_spawnattr_destroy(&attributes_);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;

  int spawn(pid_t& pid, const char* file, char* const* argv) {
    return posix_spawn(&pid, file, &actions_, &attributes_, argv, environ);
  }

 private:
  posix_spawn_file_actions_t actions_{};
  posix_spawnattr_t attributes_{};
};

std::string how_it_ended(int status) {
  if (WIFSIGNALED(status)) return fmt::format("ended by signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)));
  return fmt::format("ended with status {}", WEXITSTATUS(status));
}

}  // namespace

int run_fold(const FoldTask& task) {
  static_cast<void>(::prctl(PR_SET_PDEATHSIG, SIGKILL));
  if (task.parent != ::getppid()) return 1;  // it ended before that
  become_humble(task.hurries);
  limit_memory(task.memory_bytes);
  PosixFileSystem files;
  try {
    const auto folded = fold_log(files, task.directory, task.through);
    if (folded) return 0;
    std::fprintf(stderr, "%.*s\n", static_cast<int>(folded.error().text().size()), folded.error().text().data());
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "it would take more memory than --fold-memory allows (%llu bytes)\n",
                 static_cast<unsigned long long>(task.memory_bytes));
  }
  return 1;
}

Result<FoldProcess> FoldProcess::start(const FoldTask& task) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) return call_failed("pipe2", errno);
  FileDescriptor output(ends[0]);
  const FileDescriptor input(ends[1]);
  std::vector<std::string> words = arguments(task);
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_t pid = -1;
  if (const int failed = SpawnSettings(input.get()).spawn(pid, "/proc/self/exe", argv.data()); failed != 0) {
    return call_failed("posix_spawn /proc/self/exe", failed);
  }
  return FoldProcess(pid, std::move(output));
}

FoldProcess::FoldProcess(FoldProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), output_(std::move(other.output_)) {}

FoldProcess::~FoldProcess() {
  if (pid_ < 0) return;
  ::kill(pid_, SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) continue;
}

Result<FoldProcess::Usage> FoldProcess::wait(int stop) {
  std::string words;
  for (bool open = true; open;) {
    std::array<pollfd, 2> watched{{{output_.get(), POLLIN, 0}, {stop, POLLIN, 0}}};
    if (::poll(watched.data(), watched.size(), -1) < 0 && errno != EINTR) return call_failed("poll", errno);
    if ((watched[1].revents & POLLIN) != 0) return Error(ErrorCode::io_failed, "the server stops");
    std::array<char, 512> bytes;
    const ssize_t got = ::read(output_.get(), bytes.data(), bytes.size());
    open = got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR));
    if (got > 0) words.append(bytes.data(), std::min(static_cast<std::size_t>(got), kWordsMax - words.size()));
  }
  rusage usage{};
  int status = 0;
  pid_t reaped = ::wait4(pid_, &status, 0, &usage);
  while (reaped < 0 && errno == EINTR) reaped = ::wait4(pid_, &status, 0, &usage);
  pid_ = -1;
  if (reaped < 0) return call_failed("wait4", errno);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
    const auto millis = [](const timeval& time) { return Millis(time.tv_sec * 1000 + time.tv_usec / 1000); };
    return Usage{static_cast<std::uint64_t>(usage.ru_maxrss) * 1_KiB, millis(usage.ru_utime) + millis(usage.ru_stime)};
  }
  while (!words.empty() && words.back() == '\n') words.pop_back();
  return Error(ErrorCode::io_failed, words.empty() ? how_it_ended(status) : words);
}

}  // namespace holdfast
