#include "tests/shim/rules.h"

#include "tests/shim/journal.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>

namespace holdfast::shim {
namespace {

struct ErrnoName {
  std::string_view name;
  int number;
};
constexpr ErrnoName kErrnoNames[] = {
    {"EIO", EIO},       {"ENOSPC", ENOSPC}, {"EDQUOT", EDQUOT}, {"EINTR", EINTR},   {"EAGAIN", EAGAIN},
    {"EROFS", EROFS},   {"EMFILE", EMFILE}, {"ENFILE", ENFILE}, {"EINVAL", EINVAL}, {"EBADF", EBADF},
    {"EACCES", EACCES}, {"ENOENT", ENOENT}, {"ENOMEM", ENOMEM}, {"EFBIG", EFBIG},   {"EPERM", EPERM},
};

[[noreturn]] void bad_rule(std::string_view text) {
  give_up("HOLDFAST_SHIM_FAULTS", std::string("not understood: ").append(text));
}

/// Takes the part before the next separator off the front of `rest`.
std::string_view take(std::string_view& rest, char separator) {
  const std::string_view part = rest.substr(0, rest.find(separator));
  rest.remove_prefix(std::min(rest.size(), part.size() + 1));
  return part;
}

std::uint64_t number(std::string_view text, std::string_view rule) {
  std::uint64_t value = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end.ec != std::errc() || end.ptr != text.data() + text.size()) bad_rule(rule);
  return value;
}

Verdict parse_action(std::string_view action, std::string_view rule) {
  Verdict verdict;
  if (action == "kill") {
    verdict.kill = true;
  } else if (action == "short") {
    verdict.half = true;
  } else if (action.starts_with("delay=")) {
    verdict.delay = std::chrono::milliseconds(number(action.substr(6), rule));
  } else {
    const std::string_view name = take(action, '+');
    const auto* found = std::find_if(std::begin(kErrnoNames), std::end(kErrnoNames),
                                     [&](const ErrnoName& entry) { return entry.name == name; });
    if (found == std::end(kErrnoNames) || !(action.empty() || action == "half")) bad_rule(rule);
    verdict.error_number = found->number;
    verdict.half = !action.empty();
  }
  return verdict;
}

bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }
bool is_hex(char c) noexcept { return is_digit(c) || (c >= 'a' && c <= 'f'); }

/// The last part of the path; runs of digits and runs of four or more hexadecimal digits with a digit become
/// '#'.
std::string site_of(std::string_view path) {
  path.remove_prefix(path.rfind('/') + 1);
  std::string site;
  for (auto at = path.begin(); at != path.end();) {
    const auto hex_end = std::find_if_not(at, path.end(), is_hex);
    const bool hex = hex_end - at >= 4 && std::any_of(at, hex_end, is_digit);
    const auto end = hex ? hex_end : std::find_if_not(at, path.end(), is_digit);
    site += end > at ? '#' : *at;
    at = std::max(end, at + 1);
  }
  return site;
}

}  // namespace

void Rules::parse(std::string_view text) {
  while (!text.empty()) {
    const std::string_view rule = take(text, ';');
    if (!rule.empty()) rules_.push_back(parse_rule(rule));
  }
}

Rules::Rule Rules::parse_rule(std::string_view text) {
  std::string_view rest = text;
  Rule rule;
  const std::string_view call = take(rest, ':');
  const auto found = std::find(kCallNames.begin(), kCallNames.end(), call);
  rule.any_call = call == "any";
  if (!rule.any_call && found == kCallNames.end()) bad_rule(text);
  if (!rule.any_call) rule.call = static_cast<Call>(found - kCallNames.begin());
  const std::string_view suffix = take(rest, ':');
  if (suffix != "*") rule.suffix = suffix;
  rule.nth = number(take(rest, ':'), text);
  rule.verdict = parse_action(take(rest, ':'), text);
  rule.sticky = rest == "sticky";
  if (!rest.empty() && !rule.sticky) bad_rule(text);
  return rule;
}

Verdict Rules::on_call(Call call, std::string_view path) {
  Verdict verdict;
  bool hit = false;
  for (Rule& rule : rules_) {
    if ((!rule.any_call && rule.call != call) || !path.ends_with(rule.suffix)) continue;
    const std::uint64_t n = ++rule.matched;
    if (hit || !(n == rule.nth || (rule.sticky && n > rule.nth))) continue;
    verdict = rule.verdict;
    hit = true;
  }
  return verdict;
}

void Counters::open(const std::string& path) {
  const long fd = ::syscall(SYS_openat, AT_FDCWD, path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0 || ::syscall(SYS_ftruncate, fd, kSlots * sizeof(Slot)) != 0) give_up(path, std::strerror(errno));
  void* mapped = ::mmap(nullptr, kSlots * sizeof(Slot), PROT_READ | PROT_WRITE, MAP_SHARED, static_cast<int>(fd), 0);
  ::syscall(SYS_close, fd);
  if (mapped == MAP_FAILED) give_up(path, std::strerror(errno));
  slots_ = static_cast<Slot*>(mapped);
}

void Counters::add(Call call, std::string_view path) {
  std::string name(kCallNames[static_cast<std::size_t>(call)]);
  name.append(" ").append(site_of(path)).resize(kNameBytes, '\0');
  for (std::size_t slot = 0; slot < kSlots; ++slot) {
    if (slots_[slot].name[0] == '\0') std::memcpy(slots_[slot].name, name.data(), kNameBytes);
    if (std::memcmp(slots_[slot].name, name.data(), kNameBytes) != 0) continue;
    ++slots_[slot].count;
    return;
  }
}

}  // namespace holdfast::shim
