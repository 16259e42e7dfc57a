#include "server/descriptors.h"

#include "server/limits.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>

namespace holdfast {

std::uint64_t fitting_connections(std::uint64_t wanted, std::size_t threads, void (*notice)(std::string_view line)) {
  const rlim_t own = kOwnDescriptors + kThreadDescriptors * threads;
  const rlim_t needed = wanted + own;
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= needed) return wanted;
  const rlimit raised{std::min(needed, limit.rlim_max), limit.rlim_max};
  if (setrlimit(RLIMIT_NOFILE, &raised) == 0) limit = raised;
  if (limit.rlim_cur >= needed) return wanted;
  const std::uint64_t fitting = std::max(limit.rlim_cur / 2, limit.rlim_cur - std::min(limit.rlim_cur, own));
  notice(
      fmt::format("maxclients is lowered to {}: {} connections need {} open files and the system allows {}; raise that "
                  "limit (LimitNOFILE= of systemd, ulimit -n)",
                  fitting, wanted, needed, limit.rlim_cur));
  return fitting;
}

}  // namespace holdfast
