// Which call of the simulated disk goes wrong and how, and how often each kind of call was made from where. A
// site is a kind of call on a kind of file: "sync segment-#.log". One thread.
#pragma once

#include "protocol/error.h"

#include <array>
#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::simulation {

enum class IoCall : std::uint8_t {
  open,
  create,
  read,
  write,
  write_durable,
  sync,
  size,
  identity,
  list,
  exists,
  make_directory,
  rename,
  remove,
  sync_directory,
  free_bytes,
  lock,
};
inline constexpr std::size_t kIoCalls = 16;

/// "open", "write_durable" ...
std::string_view io_call_name(IoCall call) noexcept;

/// The file's last name with runs of digits, and longer runs of hexadecimal digits, as '#'.
std::string site_name(std::string_view path);

enum class FaultKind : std::uint8_t {
  fail,             // the call answers `error`; a failed write has written a part, a failed flush some of it
  crash,            // the power goes during the call: throws SimulatedCrash, the call's effect is pending
  delay,            // the call takes `delay` longer
  lose_write,       // a write reports success and never reaches the medium
  misdirect_write,  // a write reports success and reaches the medium `misdirect_bytes` further on
};

struct Fault {
  FaultKind kind = FaultKind::fail;
  std::optional<IoCall> call;  // any, if none
  std::string path_part;       // only calls whose path has it
  std::uint64_t nth = 1;       // of the calls that match, from the moment the fault was planned
  bool sticky = false;         // the n-th and all after it
  ErrorCode error = ErrorCode::io_failed;
  std::chrono::nanoseconds delay{};
  std::int64_t misdirect_bytes = 0;
};

/// Index of a kind of file in the counters.
using SiteIndex = std::size_t;

class FaultPlan {
 public:
  using Counts = std::array<std::uint64_t, kIoCalls>;

  /// Its index, for hits().
  std::size_t add(Fault fault);
  /// Forgets all faults; the counters stay.
  void clear() { faults_.clear(); }
  std::uint64_t hits(std::size_t fault) const { return faults_.at(fault).hits; }

  SiteIndex site(std::string_view path);
  /// Counts the call; the fault that hits it, if any, valid until the plan changes.
  const Fault* on_call(IoCall call, SiteIndex site, const std::string& path);

  std::uint64_t calls() const noexcept { return calls_; }
  std::uint64_t calls(IoCall call) const;
  /// "sync segment-#.log" -> how often.
  std::map<std::string, std::uint64_t> calls_by_site() const;

 private:
  struct Planned {
    Fault fault;
    std::uint64_t matched = 0;
    std::uint64_t hits = 0;
  };
  std::vector<Planned> faults_;
  std::map<std::string, SiteIndex, std::less<>> sites_;
  std::vector<Counts> counts_;
  std::uint64_t calls_ = 0;
};

}  // namespace holdfast::simulation
