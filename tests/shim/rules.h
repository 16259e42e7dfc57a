// The faults that the environment asks for, and the counters of calls. Under the shim's mutex.
//
//   HOLDFAST_SHIM_FAULTS = rule *(";" rule)      rule = call ":" suffix ":" nth ":" action [":sticky"]
//
// tests/shim/README.md lists calls and actions.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::shim {

enum class Call : std::uint8_t {
  open,
  open_direct,
  create,
  write,
  write_durable,
  sync,
  sync_directory,
  rename,
  unlink,
  link,
  truncate,
  fallocate,
  close,
};
inline constexpr std::size_t kCalls = 13;
inline constexpr std::array<std::string_view, kCalls> kCallNames = {
    "open",   "open_direct", "create", "write",    "write_durable", "sync", "sync_directory",
    "rename", "unlink",      "link",   "truncate", "fallocate",     "close"};

/// What the shim does to one call besides making it.
struct Verdict {
  int error_number = 0;                // the call is not made (or half of it, if `half`) and answers this errno
  bool half = false;                   // a write: only the first half is made; without an errno it says so
  bool kill = false;                   // the call is made, and SIGKILL comes before it returns
  std::chrono::milliseconds delay{0};  // before the call
};

class Rules {
 public:
  /// Ends the process with a message when the text is not understood.
  void parse(std::string_view text);
  /// Counts the call for the rules that match it; the first that hits decides.
  Verdict on_call(Call call, std::string_view path);

 private:
  struct Rule {
    bool any_call = false;
    Call call{};
    std::string suffix;  // empty: all paths
    std::uint64_t nth = 1;
    bool sticky = false;
    Verdict verdict;
    std::uint64_t matched = 0;
  };
  static Rule parse_rule(std::string_view text);
  std::vector<Rule> rules_;
};

/// Counters in a mapped file, so that they survive SIGKILL: kSlots slots of 64 bytes, each a count (8 bytes,
/// little endian) and a name ("sync segment-#.log", zero-padded). Processes that share the file add up.
class Counters {
 public:
  static constexpr std::size_t kSlots = 1024;
  static constexpr std::size_t kNameBytes = 56;

  void open(const std::string& path);
  void add(Call call, std::string_view path);

 private:
  struct Slot {
    std::uint64_t count;
    char name[kNameBytes];
  };
  Slot* slots_ = nullptr;
};

}  // namespace holdfast::shim
