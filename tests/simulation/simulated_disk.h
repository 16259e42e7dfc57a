// A disk in memory that survives the process and, as far as it had been told to, the loss of power. The code
// under test uses it as its FileSystem; the test kills the process or cuts the power, throws all objects of the
// code away, and opens the same disk again. Deterministic: same calls, same seeds, same bytes. One thread.
//
//   SimulatedDisk disk;
//   disk.crash_at(17);                       // the power goes during the 17th call
//   try { run(disk); } catch (const SimulatedCrash&) {}
//   RandomCrash fates(seed);
//   disk.crash(fates);
//   recover(disk);
//
// A copy is a disk of its own and costs a pointer per 4 KiB page: cut the power once, then try every outcome on
// copies.
#pragma once

#include "tests/simulation/disk_names.h"
#include "tests/simulation/fault_plan.h"
#include "tests/simulation/simulated_inode.h"
#include "tests/simulation/virtual_clock.h"

#include <set>

namespace holdfast::simulation {

/// The power went during a call. Only test code catches it; no std::exception, so that nothing else does.
struct SimulatedCrash {
  std::uint64_t call;  // which call it was, counted from the making of the disk
};

class SimulatedDisk final : public FileSystem {
 public:
  explicit SimulatedDisk(std::uint64_t seed = 1) : dice_(seed) {}

  // FileSystem. After a crash, until crash() or kill_process(), every call fails and has no effect.
  Result<std::unique_ptr<File>> open(const std::string& path, OpenMode mode) override;
  Result<std::vector<std::string>> list(const std::string& directory) override;
  Result<bool> exists(const std::string& path) override;
  Result<void> make_directory(const std::string& directory) override;
  Result<void> rename(const std::string& from, const std::string& to) override;
  Result<void> remove(const std::string& path) override;
  Result<void> sync_directory(const std::string& directory) override;
  Result<FileIdentity> identity(const std::string& path) override;
  Result<std::uint64_t> free_bytes(const std::string& directory) override;
  Result<std::unique_ptr<FileLock>> lock(const std::string& path) override;

  // Ends of a process. Files and locks made before must not be used afterwards, only destroyed.
  /// The power goes, or went in a planned crash; the disk is what the chooser makes of it.
  void crash(CrashChooser& chooser);
  void crash(std::uint64_t seed, bool garble = true);
  /// SIGKILL: the page cache and everything pending stay.
  void kill_process();

  // Faults.
  std::size_t plan(Fault fault) { return plan_.add(std::move(fault)); }
  /// The power goes during the n-th call from now, of any kind.
  std::size_t crash_at(std::uint64_t nth) {
    return plan({.kind = FaultKind::crash, .call = {}, .path_part = {}, .nth = nth});
  }
  void clear_faults() { plan_.clear(); }
  void set_flush_failure(FlushFailure behaviour) noexcept { flush_failure_ = behaviour; }
  /// What the disk holds at most; writes beyond answer no_space.
  void set_capacity_bytes(std::uint64_t capacity) noexcept { capacity_bytes_ = capacity; }
  /// Every call of this kind moves the clock. REQUIRES: the clock outlives the disk and its copies.
  void set_latency(VirtualClock& clock, IoCall call, std::chrono::nanoseconds latency) noexcept;

  // Looking and damaging from outside; none of these counts as a call. REQUIRES: the file exists.
  const FaultPlan& counters() const noexcept { return plan_; }
  std::size_t pending_sectors() const noexcept;
  std::size_t pending_entries() const noexcept { return names_.pending(); }
  std::uint64_t used_bytes() const noexcept;
  std::vector<std::string> names_in(const std::string& directory) const { return names_.list(clean(directory)); }
  /// The file as a process would read it, damage included.
  std::vector<std::byte> contents(const std::string& path) const;
  /// To damage it, or to see what it was before that.
  SimulatedInode& file(const std::string& path);

 private:
  friend class SimulatedFile;
  friend class SimulatedLock;
  struct Entry {
    SimulatedInode bytes;
    std::uint64_t open_count = 0;
    SiteIndex site = 0;
    std::string path;  // the newest name, for faults and error texts
  };

  static std::string clean(const std::string& path);
  static Error failure(IoCall call, const std::string& path, ErrorCode code);
  /// Counts the call and lets it take its time; the fault that hits it. An error while the power is off.
  Result<const Fault*> note(IoCall call, SiteIndex site, const std::string& path);
  /// The same, and an error where the fault says that the call fails.
  Result<const Fault*> begin(IoCall call, SiteIndex site, const std::string& path);
  Result<const Fault*> begin(IoCall call, const std::string& path) { return begin(call, plan_.site(path), path); }
  /// The call's effect is pending: here the power goes, if it was to.
  void end(const Fault* fault);
  Result<InodeNumber> make_file(const std::string& path);
  /// `unit`: a write that fails has written whole ones of so many bytes.
  Result<void> write(Entry& entry, const Fault* fault, std::uint64_t offset, std::span<const std::byte> bytes,
                     std::size_t unit);
  void forget_unreachable();
  void begin_process();

  FaultPlan plan_;
  DiskNames names_;
  std::map<InodeNumber, Entry> files_;
  std::set<std::string> directories_;
  std::set<std::string> locks_;
  std::array<std::chrono::nanoseconds, kIoCalls> latency_{};
  VirtualClock* clock_ = nullptr;
  Dice dice_;
  InodeNumber next_inode_ = 1;
  std::uint64_t process_ = 1;  // files and locks of an earlier process are void
  std::uint64_t capacity_bytes_ = ~std::uint64_t{0};
  FlushFailure flush_failure_ = FlushFailure::keeps_new;
  bool power_off_ = false;
};

}  // namespace holdfast::simulation
