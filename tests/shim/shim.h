// The state of the preloaded library: which descriptors are files below the root, and what is done around each
// call on them. interpose.cc calls it; all of it may be called by any thread, and holds its mutex only around
// bookkeeping, never around the program's own call.
#pragma once

#include "tests/shim/journal.h"
#include "tests/shim/rules.h"

#include <sys/types.h>
#include <array>
#include <atomic>
#include <mutex>
#include <optional>

namespace holdfast::shim {

inline constexpr int kDescriptorsMax = 4096;

/// One open file or directory below the root.
struct Tracked {
  std::uint64_t inode = 0;  // 0: not tracked
  bool directory = false;
  bool durable = false;  // O_DSYNC or O_SYNC
  bool append = false;
  int reader = -1;  // a descriptor of the shim's own, for old bytes
  std::string path;
};

/// A write, or a change of names, between its record and its end.
struct Begun {
  Verdict verdict;
  std::uint64_t inode = 0;
  std::uint64_t record = 0;
  bool durable = false;
  bool tracked = false;
};

class Shim {
 public:
  /// The one of this process; reads the environment the first time. Inactive without HOLDFAST_SHIM_ROOT.
  static Shim& instance();

  // open and close
  std::string resolve(int directory_fd, const char* path) const;  // absolute; empty: not below the root
  Verdict before_open(const std::string& path, int flags, bool& exists);
  void after_open(int fd, const std::string& path, int flags, bool existed);
  Verdict before_close(int fd);
  void after_close(int fd);

  // bytes
  Begun before_write(int fd, std::optional<std::uint64_t> offset, std::uint64_t length);
  Begun before_truncate(int fd, std::uint64_t size);
  Begun before_fallocate(int fd, bool keep_size, bool erases, std::uint64_t offset, std::uint64_t length);
  void after_write(const Begun& begun, std::int64_t result, std::uint64_t wanted);

  // flushes; `record` is the journal's end when they began
  Begun before_sync(int fd);
  void after_sync(int fd, const Begun& begun, int result);
  /// The program asks for what the device has: failed writes are put back first.
  void before_device_read(int fd);

  // names
  Begun before_rename(const std::string& from, const std::string& to);
  Begun before_unlink(const std::string& path);
  Begun before_link(const std::string& path);
  void after_names(const Begun& begun, bool succeeded);
  /// Open files go on under the new name.
  void follow_rename(const std::string& from, const std::string& to);
  void after_link(const Begun& begun, const std::string& path);

 private:
  Shim();
  /// What is open as `fd`; none for sockets, pipes and files elsewhere. Taken without the mutex, as W-17 has
  /// it: one thread opens, uses and closes a descriptor.
  Tracked* find(int fd) noexcept;
  /// Counts the call and asks the rules. Under the mutex.
  Verdict decide(Call call, const std::string& path);
  Begun begin_bytes(Tracked& file, Call call, std::uint64_t offset, std::uint64_t length, std::uint64_t new_size);
  /// A link to the file in the side folder, so that the name can come back; empty if there is no such file.
  std::string save(const std::string& path);
  /// Removes the links that no undo needs once the directory is durable up to this record.
  void forget_saved(const std::string& directory, std::uint64_t before);

  struct Saved {
    std::uint64_t record;
    std::string directory;
    std::string link;
  };

  std::mutex mutex_;
  std::string root_;  // empty: inactive
  std::string side_;
  Rules rules_;
  Counters counters_;
  JournalWriter journal_;
  bool any_failed_ = false;  // some flush failed since the last power cut
  std::uint64_t saved_count_ = 0;
  std::vector<Saved> saved_;
  std::array<Tracked, kDescriptorsMax> tracked_;
  std::array<std::atomic<bool>, kDescriptorsMax> is_tracked_{};
};

}  // namespace holdfast::shim
