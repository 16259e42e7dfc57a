#include "tests/shim/shim.h"

#include "tests/shim/pending.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <cstring>

namespace holdfast::shim {
namespace {

std::string environment(const char* name) {
  const char* value = ::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

/// The path without links and dots, as far as it exists; empty when its directory does not.
std::string canonical(const std::string& path) {
  std::array<char, PATH_MAX> buffer;
  if (::realpath(path.c_str(), buffer.data()) != nullptr) return buffer.data();
  const auto slash = path.rfind('/');
  const std::string parent = slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
  if (::realpath(parent.c_str(), buffer.data()) == nullptr) return {};
  const std::string directory = buffer.data();
  return (directory == "/" ? "" : directory) + "/" + path.substr(slash + 1);
}

bool below(const std::string& path, const std::string& root) {
  return path.starts_with(root) && (path.size() == root.size() || path[root.size()] == '/');
}

std::string of_descriptor(int fd) {
  std::array<char, PATH_MAX> target;
  const std::string link = "/proc/self/fd/" + std::to_string(fd);
  const auto size = ::readlink(link.c_str(), target.data(), target.size());
  return size < 0 ? std::string() : std::string(target.data(), static_cast<std::size_t>(size));
}

std::uint64_t size_of(int fd) {
  struct stat status {};
  return ::fstat(fd, &status) == 0 ? static_cast<std::uint64_t>(status.st_size) : 0;
}

std::uint64_t inode_of(const std::string& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0 ? status.st_ino : 0;
}

void kill_if(const Verdict& verdict) {
  if (verdict.kill) ::syscall(SYS_kill, ::syscall(SYS_getpid), SIGKILL);
}

}  // namespace

Shim& Shim::instance() {
  static Shim* const kShim = new Shim;  // never destroyed: other destructors may still write
  return *kShim;
}

Shim::Shim() {
  const std::string root = environment("HOLDFAST_SHIM_ROOT");
  const std::string side = environment("HOLDFAST_SHIM_DIR");
  if (root.empty()) return;
  if (side.empty()) give_up("HOLDFAST_SHIM_DIR", "not set");
  side_ = canonical(side);
  rules_.parse(environment("HOLDFAST_SHIM_FAULTS"));
  counters_.open(side_ + "/counters");
  for (const JournalRecord& record : read_journal(side_ + "/journal")) {
    any_failed_ = any_failed_ || record.header.kind == JournalKind::failed_sync || (record.header.flags & kFailed) != 0;
  }
  journal_.open(side_ + "/journal");
  root_ = canonical(root);
  if (root_.empty() || below(side_, root_)) give_up(root, "its parent must exist and the side folder lie outside it");
  ::pthread_atfork([] { instance().mutex_.lock(); }, [] { instance().mutex_.unlock(); },
                   [] { instance().mutex_.unlock(); });
}

std::string Shim::resolve(int directory_fd, const char* path) const {
  if (root_.empty() || path == nullptr) return {};
  std::string full = path;
  if (!full.starts_with('/') && directory_fd != AT_FDCWD) full = of_descriptor(directory_fd) + "/" + full;
  full = canonical(full);
  return below(full, root_) ? full : std::string();
}

Tracked* Shim::find(int fd) noexcept {
  if (fd < 0 || fd >= kDescriptorsMax || !is_tracked_[static_cast<std::size_t>(fd)].load(std::memory_order_acquire))
    return nullptr;
  return &tracked_[static_cast<std::size_t>(fd)];
}

Verdict Shim::decide(Call call, const std::string& path) {
  counters_.add(call, path);
  return rules_.on_call(call, path);
}

Verdict Shim::before_open(const std::string& path, int flags, bool& exists) {
  const std::lock_guard lock(mutex_);
  exists = inode_of(path) != 0;
  const bool creates = (flags & O_CREAT) != 0 && !exists;
  Verdict verdict = decide(creates ? Call::create : Call::open, path);
  if ((flags & O_DIRECT) != 0 && verdict.error_number == 0) {
    const Verdict direct = decide(Call::open_direct, path);
    verdict.error_number = direct.error_number;
  }
  return verdict;
}

void Shim::after_open(int fd, const std::string& path, int flags, bool existed) {
  struct stat status {};
  if (fd >= kDescriptorsMax || ::fstat(fd, &status) != 0) return;
  const std::lock_guard lock(mutex_);
  if (!existed) {
    const std::string_view texts[] = {path};
    journal_.append({.kind = JournalKind::create, .flags = kNewFile, .inode = status.st_ino}, texts);
  }
  Tracked& file = tracked_[static_cast<std::size_t>(fd)];
  file = {status.st_ino, S_ISDIR(status.st_mode), (flags & O_DSYNC) != 0, (flags & O_APPEND) != 0, -1, path};
  is_tracked_[static_cast<std::size_t>(fd)].store(true, std::memory_order_release);
}

Verdict Shim::before_close(int fd) {
  Tracked* file = find(fd);
  if (file == nullptr) return {};
  const std::lock_guard lock(mutex_);
  return decide(Call::close, file->path);
}

void Shim::after_close(int fd) {
  Tracked* file = find(fd);
  if (file == nullptr) return;
  if (file->reader >= 0) ::syscall(SYS_close, file->reader);
  is_tracked_[static_cast<std::size_t>(fd)].store(false, std::memory_order_release);
}

Begun Shim::begin_bytes(Tracked& file, Call call, std::uint64_t offset, std::uint64_t length, std::uint64_t new_size) {
  Begun begun;
  if (file.reader < 0) {
    const std::string self = "/proc/self/fd/" + std::to_string(&file - tracked_.data());
    file.reader = static_cast<int>(::syscall(SYS_openat, AT_FDCWD, self.c_str(), O_RDONLY | O_CLOEXEC, 0));
    if (file.reader < 0) give_up(file.path, std::strerror(errno));
  }
  const std::uint64_t old_size = size_of(file.reader);
  const std::lock_guard lock(mutex_);
  begun.verdict = decide(call, file.path);
  begun.tracked = true;
  begun.inode = file.inode;
  begun.durable = call == Call::write_durable;
  if (begun.verdict.error_number != 0 && !begun.verdict.half) return begun;
  begun.record = journal_.append({.kind = JournalKind::write,
                                  .inode = file.inode,
                                  .offset = offset,
                                  .length = length,
                                  .old_size = old_size,
                                  .new_size = new_size},
                                 old_sectors(file.reader, offset, length, old_size));
  return begun;
}

Begun Shim::before_write(int fd, std::optional<std::uint64_t> offset, std::uint64_t length) {
  Tracked* file = find(fd);
  if (file == nullptr) return {};
  const std::uint64_t size = size_of(fd);
  const std::uint64_t at = file->append ? size
                           : offset     ? *offset
                                        : static_cast<std::uint64_t>(::lseek(fd, 0, SEEK_CUR));
  return begin_bytes(*file, file->durable ? Call::write_durable : Call::write, at, length, std::max(size, at + length));
}

Begun Shim::before_truncate(int fd, std::uint64_t size) {
  Tracked* file = find(fd);
  if (file == nullptr) return {};
  const std::uint64_t old_size = size_of(fd);
  return begin_bytes(*file, Call::truncate, size, old_size > size ? old_size - size : 0, size);
}

Begun Shim::before_fallocate(int fd, bool keep_size, bool erases, std::uint64_t offset, std::uint64_t length) {
  Tracked* file = find(fd);
  if (file == nullptr) return {};
  const std::uint64_t size = size_of(fd);
  const std::uint64_t new_size = keep_size ? size : std::max(size, offset + length);
  const std::uint64_t erased = erases && offset < size ? std::min(length, size - offset) : 0;
  return begin_bytes(*file, Call::fallocate, offset, erased, new_size);
}

void Shim::after_write(const Begun& begun, std::int64_t result, std::uint64_t wanted) {
  if (!begun.tracked) return;
  kill_if(begun.verdict);
  const bool whole = result >= 0 && static_cast<std::uint64_t>(result) == wanted;
  const std::lock_guard lock(mutex_);
  any_failed_ = any_failed_ || !whole;
  const std::uint32_t flags = !whole ? kFailed : begun.durable ? kDurable : 0;
  journal_.append({.kind = JournalKind::done, .flags = flags, .inode = begun.inode, .position = begun.record}, "");
}

Begun Shim::before_sync(int fd) {
  Begun begun;
  Tracked* file = find(fd);
  if (file == nullptr) return begun;
  const std::lock_guard lock(mutex_);
  begun.verdict = decide(file->directory ? Call::sync_directory : Call::sync, file->path);
  begun.tracked = true;
  begun.inode = file->inode;
  begun.record = journal_.end();
  return begun;
}

void Shim::after_sync(int fd, const Begun& begun, int result) {
  Tracked* file = find(fd);
  if (!begun.tracked || file == nullptr) return;
  kill_if(begun.verdict);
  const std::lock_guard lock(mutex_);
  if (file->directory) {
    if (result != 0) return;
    const std::string_view texts[] = {file->path};
    journal_.append({.kind = JournalKind::sync_directory, .position = begun.record}, texts);
    forget_saved(file->path, begun.record);
    return;
  }
  if (result != 0 && begun.verdict.error_number == EINTR) return;  // not done, but not failed either
  any_failed_ = any_failed_ || result != 0;
  const JournalKind kind = result == 0 ? JournalKind::sync : JournalKind::failed_sync;
  journal_.append({.kind = kind, .inode = file->inode, .position = begun.record}, "");
}

void Shim::before_device_read(int fd) {
  Tracked* file = find(fd);
  if (file == nullptr || !any_failed_) return;
  const std::lock_guard lock(mutex_);
  const auto records = read_journal(side_ + "/journal");
  const PendingState pending = find_pending(records);
  const auto found = pending.files.find(file->inode);
  if (found == pending.files.end()) return;
  const std::string self = "/proc/self/fd/" + std::to_string(fd);
  const long writer = ::syscall(SYS_openat, AT_FDCWD, self.c_str(), O_WRONLY | O_CLOEXEC, 0);
  if (writer < 0) give_up(file->path, std::strerror(errno));
  if (revert_failed(static_cast<int>(writer), found->second)) {
    journal_.append({.kind = JournalKind::reverted, .inode = file->inode}, "");
  }
  ::syscall(SYS_close, writer);
}

Begun Shim::before_rename(const std::string& from, const std::string& to) {
  Begun begun;
  const std::lock_guard lock(mutex_);
  begun.verdict = decide(Call::rename, to);
  begun.tracked = true;
  begun.inode = inode_of(from);
  if (begun.verdict.error_number != 0) return begun;
  const std::string saved = save(to);
  const std::string_view texts[] = {from, to, saved};
  begun.record = journal_.append({.kind = JournalKind::rename, .inode = begun.inode}, texts);
  if (!saved.empty()) saved_.push_back({begun.record, directory_of(to), saved});
  return begun;
}

Begun Shim::before_unlink(const std::string& path) {
  Begun begun;
  const std::lock_guard lock(mutex_);
  begun.verdict = decide(Call::unlink, path);
  begun.tracked = true;
  begun.inode = inode_of(path);
  if (begun.verdict.error_number != 0) return begun;
  const std::string saved = save(path);
  const std::string_view texts[] = {path, saved};
  begun.record = journal_.append({.kind = JournalKind::remove, .inode = begun.inode}, texts);
  if (!saved.empty()) saved_.push_back({begun.record, directory_of(path), saved});
  return begun;
}

Begun Shim::before_link(const std::string& path) {
  Begun begun;
  const std::lock_guard lock(mutex_);
  begun.verdict = decide(Call::link, path);
  begun.tracked = true;
  return begun;
}

void Shim::after_names(const Begun& begun, bool succeeded) {
  kill_if(begun.verdict);
  if (succeeded || begun.record == 0) return;
  const std::lock_guard lock(mutex_);
  journal_.append({.kind = JournalKind::cancel, .position = begun.record}, "");
}

void Shim::follow_rename(const std::string& from, const std::string& to) {
  const std::lock_guard lock(mutex_);
  for (Tracked& file : tracked_) {
    if (file.path == from) file.path = to;
  }
}

void Shim::after_link(const Begun& begun, const std::string& path) {
  {
    const std::lock_guard lock(mutex_);
    const std::string_view texts[] = {path};
    journal_.append({.kind = JournalKind::create, .inode = inode_of(path)}, texts);
  }
  kill_if(begun.verdict);
}

std::string Shim::save(const std::string& path) {
  const std::uint64_t inode = inode_of(path);
  if (inode == 0) return {};
  for (;;) {
    std::string link = side_ + "/saved-" + std::to_string(inode) + "-" + std::to_string(++saved_count_);
    if (::syscall(SYS_linkat, AT_FDCWD, path.c_str(), AT_FDCWD, link.c_str(), 0) == 0) return link;
    if (errno != EEXIST) give_up("saving " + path, std::strerror(errno));  // the side folder is on the same file system
  }
}

void Shim::forget_saved(const std::string& directory, std::uint64_t before) {
  std::erase_if(saved_, [&](const Saved& saved) {
    if (saved.directory != directory || saved.record >= before) return false;
    ::syscall(SYS_unlinkat, AT_FDCWD, saved.link.c_str(), 0);
    return true;
  });
}

}  // namespace holdfast::shim
