// The functions that the preloaded library puts before libc's. Each asks the shim, makes the system call
// itself, and tells the shim how it went; on descriptors and paths that are not below the root it makes the
// system call only.
#include "tests/shim/shim.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
#include <cerrno>
#include <cstdarg>
#include <ctime>

// libc's headers declare some of these with attributes that a definition need not repeat.
#pragma GCC visibility push(default)

namespace {

using namespace holdfast::shim;

int fail(int error_number) {
  errno = error_number;
  return -1;
}

void wait(const Verdict& verdict) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(verdict.delay);
  const timespec time{seconds.count(), std::chrono::nanoseconds(verdict.delay - seconds).count()};
  if (verdict.delay.count() > 0) ::syscall(SYS_nanosleep, &time, nullptr);
}

/// The errno of the last system call survives what the shim does after it.
class KeepErrno {
 public:
  KeepErrno() noexcept : errno_(errno) {}
  ~KeepErrno() { errno = errno_; }

 private:
  int errno_;
};

int open_file(int directory_fd, const char* path, int flags, mode_t mode) {
  Shim& shim = Shim::instance();
  const std::string full = shim.resolve(directory_fd, path);
  bool existed = true;
  if (!full.empty()) {
    const Verdict verdict = shim.before_open(full, flags, existed);
    wait(verdict);
    if (verdict.error_number != 0) return fail(verdict.error_number);
  }
  const int fd = static_cast<int>(::syscall(SYS_openat, directory_fd, path, flags, mode));
  if (fd < 0 || full.empty()) return fd;
  const KeepErrno keep;
  shim.after_open(fd, full, flags, existed);
  if ((flags & O_DIRECT) != 0 && (flags & O_ACCMODE) == O_RDONLY) shim.before_device_read(fd);
  return fd;
}

/// The mode argument of open, which is there only if it is needed.
#define HOLDFAST_SHIM_MODE(last, flags)         \
  mode_t mode = 0;                              \
  if (((flags) & (O_CREAT | O_TMPFILE)) != 0) { \
    va_list arguments;                          \
    va_start(arguments, last);                  \
    mode = va_arg(arguments, mode_t);           \
    va_end(arguments);                          \
  }

/// `real(limit)` writes at most `limit` bytes.
template <class Real>
ssize_t write_bytes(int fd, std::optional<std::uint64_t> offset, std::size_t length, Real&& real) {
  Shim& shim = Shim::instance();
  const Begun begun = shim.before_write(fd, offset, length);
  wait(begun.verdict);
  if (begun.verdict.error_number != 0 && !begun.verdict.half) return fail(begun.verdict.error_number);
  const long result = real(begun.verdict.half ? length / 2 : length);
  if (begun.verdict.error_number != 0) errno = begun.verdict.error_number;
  const KeepErrno keep;
  shim.after_write(begun, result, length);
  return begun.verdict.error_number != 0 ? -1 : result;
}

std::size_t total(const iovec* parts, int count) {
  std::size_t sum = 0;
  for (int part = 0; part < count; ++part) sum += parts[part].iov_len;
  return sum;
}

/// As many leading parts as fit into `limit`, the last one cut.
std::vector<iovec> limited(const iovec* parts, int count, std::size_t limit) {
  std::vector<iovec> result;
  for (int part = 0; part < count && limit > 0; ++part) {
    result.push_back({parts[part].iov_base, std::min(limit, parts[part].iov_len)});
    limit -= result.back().iov_len;
  }
  return result;
}

template <class Real>
int flush(int fd, Real&& real) {
  Shim& shim = Shim::instance();
  const Begun begun = shim.before_sync(fd);
  wait(begun.verdict);
  const int error_number = begun.verdict.error_number;
  const int result = error_number != 0 ? -1 : static_cast<int>(real());
  if (error_number != 0) errno = error_number;
  const KeepErrno keep;
  shim.after_sync(fd, begun, result);
  return result;
}

/// For calls whose Begun says all, whether they change names or bytes.
template <class Real, class After>
int change(const Begun& begun, Real&& real, After&& after) {
  wait(begun.verdict);
  if (begun.verdict.error_number != 0) return fail(begun.verdict.error_number);
  const int result = static_cast<int>(real());
  const KeepErrno keep;
  after(result);
  return result;
}

int rename_file(int from_fd, const char* from, int to_fd, const char* to, unsigned flags) {
  Shim& shim = Shim::instance();
  const auto real = [&] { return ::syscall(SYS_renameat2, from_fd, from, to_fd, to, flags); };
  const std::string full_from = shim.resolve(from_fd, from);
  const std::string full_to = shim.resolve(to_fd, to);
  if (full_from.empty() || full_to.empty()) return static_cast<int>(real());
  const Begun begun = shim.before_rename(full_from, full_to);
  return change(begun, real, [&](int result) {
    shim.after_names(begun, result == 0);
    if (result == 0) shim.follow_rename(full_from, full_to);
  });
}

int unlink_file(int directory_fd, const char* path, int flags) {
  Shim& shim = Shim::instance();
  const auto real = [&] { return ::syscall(SYS_unlinkat, directory_fd, path, flags); };
  const std::string full = shim.resolve(directory_fd, path);
  if (full.empty() || (flags & AT_REMOVEDIR) != 0) return static_cast<int>(real());
  const Begun begun = shim.before_unlink(full);
  return change(begun, real, [&](int result) { shim.after_names(begun, result == 0); });
}

int link_file(int from_fd, const char* from, int to_fd, const char* to, int flags) {
  Shim& shim = Shim::instance();
  const auto real = [&] { return ::syscall(SYS_linkat, from_fd, from, to_fd, to, flags); };
  const std::string full = shim.resolve(to_fd, to);
  if (full.empty()) return static_cast<int>(real());
  const Begun begun = shim.before_link(full);
  return change(begun, real, [&](int result) {
    if (result == 0) shim.after_link(begun, full);
  });
}

int truncate_file(int fd, off64_t size) {
  Shim& shim = Shim::instance();
  const Begun begun = shim.before_truncate(fd, static_cast<std::uint64_t>(size));
  return change(
      begun, [&] { return ::syscall(SYS_ftruncate, fd, size); },
      [&](int result) { shim.after_write(begun, result, 0); });
}

int allocate(int fd, int mode, off64_t offset, off64_t length) {
  Shim& shim = Shim::instance();
  const bool erases = (mode & (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE)) != 0;
  const Begun begun = shim.before_fallocate(fd, (mode & FALLOC_FL_KEEP_SIZE) != 0, erases,
                                            static_cast<std::uint64_t>(offset), static_cast<std::uint64_t>(length));
  return change(
      begun, [&] { return ::syscall(SYS_fallocate, fd, mode, offset, length); },
      [&](int result) { shim.after_write(begun, result, 0); });
}

}  // namespace

// The names are libc's; those of its parameters are reserved words.
// NOLINTBEGIN(readability-inconsistent-declaration-parameter-name, readability-identifier-naming)
extern "C" {

int open(const char* path, int flags, ...) {
  HOLDFAST_SHIM_MODE(flags, flags)
  return open_file(AT_FDCWD, path, flags, mode);
}
int open64(const char* path, int flags, ...) {
  HOLDFAST_SHIM_MODE(flags, flags)
  return open_file(AT_FDCWD, path, flags, mode);
}
int openat(int directory_fd, const char* path, int flags, ...) {
  HOLDFAST_SHIM_MODE(flags, flags)
  return open_file(directory_fd, path, flags, mode);
}
int openat64(int directory_fd, const char* path, int flags, ...) {
  HOLDFAST_SHIM_MODE(flags, flags)
  return open_file(directory_fd, path, flags, mode);
}
int __open_2(const char* path, int flags) { return open_file(AT_FDCWD, path, flags, 0); }
int __open64_2(const char* path, int flags) { return open_file(AT_FDCWD, path, flags, 0); }
int __openat_2(int directory_fd, const char* path, int flags) { return open_file(directory_fd, path, flags, 0); }
int __openat64_2(int directory_fd, const char* path, int flags) { return open_file(directory_fd, path, flags, 0); }
int creat(const char* path, mode_t mode) { return open_file(AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, mode); }
int creat64(const char* path, mode_t mode) { return open_file(AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, mode); }

int close(int fd) {
  Shim& shim = Shim::instance();
  const Verdict verdict = shim.before_close(fd);
  wait(verdict);
  shim.after_close(fd);
  const int result = static_cast<int>(::syscall(SYS_close, fd));
  return verdict.error_number != 0 ? fail(verdict.error_number) : result;
}

ssize_t write(int fd, const void* bytes, size_t size) {
  return write_bytes(fd, std::nullopt, size, [&](std::size_t limit) { return ::syscall(SYS_write, fd, bytes, limit); });
}
ssize_t pwrite64(int fd, const void* bytes, size_t size, off64_t offset) {
  return write_bytes(fd, static_cast<std::uint64_t>(offset), size,
                     [&](std::size_t limit) { return ::syscall(SYS_pwrite64, fd, bytes, limit, offset); });
}
ssize_t pwrite(int fd, const void* bytes, size_t size, off_t offset) { return pwrite64(fd, bytes, size, offset); }
ssize_t writev(int fd, const iovec* parts, int count) {
  return write_bytes(fd, std::nullopt, total(parts, count), [&](std::size_t limit) {
    const auto some = limited(parts, count, limit);
    return ::syscall(SYS_writev, fd, some.data(), some.size());
  });
}
ssize_t pwritev64(int fd, const iovec* parts, int count, off64_t offset) {
  return write_bytes(fd, static_cast<std::uint64_t>(offset), total(parts, count), [&](std::size_t limit) {
    const auto some = limited(parts, count, limit);
    return ::syscall(SYS_pwritev, fd, some.data(), some.size(), offset, 0L);
  });
}
ssize_t pwritev(int fd, const iovec* parts, int count, off_t offset) { return pwritev64(fd, parts, count, offset); }

int fsync(int fd) {
  return flush(fd, [&] { return ::syscall(SYS_fsync, fd); });
}
int fdatasync(int fd) {
  return flush(fd, [&] { return ::syscall(SYS_fdatasync, fd); });
}
/// Makes nothing durable (sync_file_range(2)), so there is nothing to note.
int sync_file_range(int fd, off64_t offset, off64_t length, unsigned flags) {
  return static_cast<int>(::syscall(SYS_sync_file_range, fd, offset, length, flags));
}
int posix_fadvise64(int fd, off64_t offset, off64_t length, int advice) {
  if (advice == POSIX_FADV_DONTNEED) Shim::instance().before_device_read(fd);
  return ::syscall(SYS_fadvise64, fd, offset, length, advice) == 0 ? 0 : errno;
}
int posix_fadvise(int fd, off_t offset, off_t length, int advice) {
  return posix_fadvise64(fd, offset, length, advice);
}

int rename(const char* from, const char* to) { return rename_file(AT_FDCWD, from, AT_FDCWD, to, 0); }
int renameat(int from_fd, const char* from, int to_fd, const char* to) {
  return rename_file(from_fd, from, to_fd, to, 0);
}
int renameat2(int from_fd, const char* from, int to_fd, const char* to, unsigned flags) {
  return rename_file(from_fd, from, to_fd, to, flags);
}
int unlink(const char* path) { return unlink_file(AT_FDCWD, path, 0); }
int unlinkat(int directory_fd, const char* path, int flags) { return unlink_file(directory_fd, path, flags); }
int link(const char* from, const char* to) { return link_file(AT_FDCWD, from, AT_FDCWD, to, 0); }
int linkat(int from_fd, const char* from, int to_fd, const char* to, int flags) {
  return link_file(from_fd, from, to_fd, to, flags);
}

int ftruncate64(int fd, off64_t size) { return truncate_file(fd, size); }
int ftruncate(int fd, off_t size) { return truncate_file(fd, size); }
int fallocate64(int fd, int mode, off64_t offset, off64_t length) { return allocate(fd, mode, offset, length); }
int fallocate(int fd, int mode, off_t offset, off_t length) { return allocate(fd, mode, offset, length); }
int posix_fallocate64(int fd, off64_t offset, off64_t length) {
  return allocate(fd, 0, offset, length) == 0 ? 0 : errno;
}
int posix_fallocate(int fd, off_t offset, off_t length) { return posix_fallocate64(fd, offset, length); }
}
// NOLINTEND(readability-inconsistent-declaration-parameter-name, readability-identifier-naming)
