#include "server/process_figures.h"

#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace holdfast {
namespace {

namespace fs = std::filesystem;

std::string read_file(const fs::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

double ticks_to_seconds(std::uint64_t ticks) {
  return static_cast<double>(ticks) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

/// The fields of a stat file behind the command's name, which may itself have spaces; index 0 is field 3 of proc(5).
std::vector<std::string> stat_fields(const fs::path& path) {
  const std::string text = read_file(path);
  std::istringstream rest(text.substr(std::min(text.size(), text.rfind(')') + 1)));
  std::vector<std::string> fields;
  for (std::string field; rest >> field;) fields.push_back(field);
  return fields;
}

std::uint64_t field(const std::vector<std::string>& fields, std::size_t number_of_proc5) {
  const std::size_t index = number_of_proc5 - 3;
  return index < fields.size() ? std::strtoull(fields[index].c_str(), nullptr, 10) : 0;
}

double boot_unix_seconds() {
  std::ifstream file("/proc/stat");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("btime ")) return std::strtod(line.c_str() + 6, nullptr);
  }
  return 0;
}

/// Nanoseconds on a processor, as the scheduler counts; where it does not, the clock ticks of user and system time.
double thread_seconds(const fs::path& task) {
  const std::string text = read_file(task / "schedstat");
  if (const double ns = std::strtod(text.c_str(), nullptr); ns > 0) return ns / 1e9;
  const auto fields = stat_fields(task / "stat");
  return ticks_to_seconds(field(fields, 14) + field(fields, 15));
}

void add_threads(ProcessFigures& figures) {
  std::error_code ec;
  for (const auto& task : fs::directory_iterator("/proc/self/task", ec)) {
    std::string name = read_file(task.path() / "comm");
    if (!name.empty() && name.back() == '\n') name.pop_back();
    if (name.empty()) continue;  // it has just ended
    const auto found = std::find_if(figures.threads.begin(), figures.threads.end(),
                                    [&](const ProcessFigures::ThreadCpu& each) { return each.name == name; });
    if (found == figures.threads.end()) {
      figures.threads.push_back({name, thread_seconds(task.path())});
    } else {
      found->seconds += thread_seconds(task.path());
    }
  }
}

}  // namespace

ProcessFigures read_process_figures() {
  ProcessFigures figures;
  const auto fields = stat_fields("/proc/self/stat");
  static const double kBooted = boot_unix_seconds();
  figures.start_time_seconds = kBooted + ticks_to_seconds(field(fields, 22));
  figures.cpu_seconds = ticks_to_seconds(field(fields, 14) + field(fields, 15));
  figures.virtual_bytes = field(fields, 23);
  figures.resident_bytes = field(fields, 24) * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  std::error_code ec;
  for (const auto& entry : fs::directory_iterator("/proc/self/fd", ec)) figures.open_fds += entry.exists(ec) ? 1U : 0U;
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) figures.max_fds = limit.rlim_cur;
  add_threads(figures);
  return figures;
}

void name_thread(const char* name) noexcept { pthread_setname_np(pthread_self(), name); }

}  // namespace holdfast
