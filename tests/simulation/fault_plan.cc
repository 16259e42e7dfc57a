#include "tests/simulation/fault_plan.h"

#include <algorithm>

namespace holdfast::simulation {
namespace {

constexpr std::array<std::string_view, kIoCalls> kNames = {
    "open", "create", "read",           "write",  "write_durable", "sync",           "size",       "identity",
    "list", "exists", "make_directory", "rename", "remove",        "sync_directory", "free_bytes", "lock"};
constexpr std::size_t kHexRunMin = 4;

bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }
bool is_hex(char c) noexcept { return is_digit(c) || (c >= 'a' && c <= 'f'); }

/// Length of the run at `at` that stands for a number: digits, or at least kHexRunMin hexadecimal digits with a
/// digit among them.
std::size_t number_length(std::string_view text, std::size_t at) noexcept {
  const auto begin = text.begin() + static_cast<std::ptrdiff_t>(at);
  const auto hex_end = std::find_if_not(begin, text.end(), is_hex);
  if (hex_end - begin >= static_cast<std::ptrdiff_t>(kHexRunMin) && std::any_of(begin, hex_end, is_digit)) {
    return static_cast<std::size_t>(hex_end - begin);
  }
  return static_cast<std::size_t>(std::find_if_not(begin, text.end(), is_digit) - begin);
}

}  // namespace

std::string_view io_call_name(IoCall call) noexcept { return kNames[static_cast<std::size_t>(call)]; }

std::string site_name(std::string_view path) {
  path.remove_prefix(path.rfind('/') + 1);
  std::string name;
  for (std::size_t at = 0; at < path.size();) {
    const std::size_t length = number_length(path, at);
    name += length > 0 ? '#' : path[at];
    at += std::max<std::size_t>(length, 1);
  }
  return name;
}

std::size_t FaultPlan::add(Fault fault) {
  faults_.push_back({std::move(fault)});
  return faults_.size() - 1;
}

SiteIndex FaultPlan::site(std::string_view path) {
  const auto [found, fresh] = sites_.try_emplace(site_name(path), counts_.size());
  if (fresh) counts_.push_back({});
  return found->second;
}

const Fault* FaultPlan::on_call(IoCall call, SiteIndex site, const std::string& path) {
  ++calls_;
  ++counts_[site][static_cast<std::size_t>(call)];
  const Fault* hit = nullptr;
  for (Planned& planned : faults_) {
    const Fault& fault = planned.fault;
    if (fault.call && *fault.call != call) continue;
    if (path.find(fault.path_part) == std::string::npos) continue;
    const std::uint64_t n = ++planned.matched;
    if (hit != nullptr || !(n == fault.nth || (fault.sticky && n > fault.nth))) continue;
    ++planned.hits;
    hit = &fault;
  }
  return hit;
}

std::uint64_t FaultPlan::calls(IoCall call) const {
  std::uint64_t sum = 0;
  for (const Counts& counts : counts_) sum += counts[static_cast<std::size_t>(call)];
  return sum;
}

std::map<std::string, std::uint64_t> FaultPlan::calls_by_site() const {
  std::map<std::string, std::uint64_t> result;
  for (const auto& [name, site] : sites_) {
    for (std::size_t call = 0; call < kIoCalls; ++call) {
      if (counts_[site][call] > 0) result[std::string(kNames[call]) + " " + name] = counts_[site][call];
    }
  }
  return result;
}

}  // namespace holdfast::simulation
