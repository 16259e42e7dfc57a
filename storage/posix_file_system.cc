#include "storage/posix_file_system.h"

#include "storage/posix_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cstdio>

namespace holdfast {
namespace {

constexpr mode_t kDirectoryMode = 0700;

/// flock(2) rather than fcntl(2): held by the open file, so that closing another descriptor of it does not drop
/// it.
class PosixLock final : public FileLock {
 public:
  explicit PosixLock(Descriptor fd) : fd_(std::move(fd)) {}

 private:
  Descriptor fd_;
};

struct CloseDirectory {
  void operator()(DIR* directory) const noexcept { ::closedir(directory); }
};

std::string parent_of(const std::string& path) {
  const auto end = path.find_last_not_of('/');
  const auto slash = end == std::string::npos ? end : path.rfind('/', end);
  if (slash == std::string::npos) return path.starts_with('/') ? "/" : ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace

Result<std::unique_ptr<File>> PosixFileSystem::open(const std::string& path, OpenMode mode) {
  return PosixFile::open(path, mode);
}

Result<std::vector<std::string>> PosixFileSystem::list(const std::string& directory) {
  const std::unique_ptr<DIR, CloseDirectory> stream(::opendir(directory.c_str()));
  if (!stream) return posix_error("opendir", directory, errno);
  std::vector<std::string> names;
  for (;;) {
    errno = 0;
    const dirent* entry = ::readdir(stream.get());
    if (entry == nullptr) break;
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  if (errno != 0) return posix_error("readdir", directory, errno);
  std::sort(names.begin(), names.end());
  return names;
}

Result<bool> PosixFileSystem::exists(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0) return true;
  if (errno == ENOENT || errno == ENOTDIR) return false;
  return posix_error("stat", path, errno);
}

Result<void> PosixFileSystem::make_directory(const std::string& directory) {
  if (::mkdir(directory.c_str(), kDirectoryMode) == 0) return sync_directory(parent_of(directory));
  if (errno == ENOENT) {
    HOLDFAST_TRY(make_directory(parent_of(directory)));
    if (::mkdir(directory.c_str(), kDirectoryMode) == 0) return sync_directory(parent_of(directory));
  }
  const int failed = errno;
  struct stat status {};
  if (failed == EEXIST && ::stat(directory.c_str(), &status) == 0 && S_ISDIR(status.st_mode)) return {};
  return posix_error("mkdir", directory, failed);
}

Result<void> PosixFileSystem::rename(const std::string& from, const std::string& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) return posix_error("rename", from + " to " + to, errno);
  return {};
}

Result<void> PosixFileSystem::remove(const std::string& path) {
  if (::unlink(path.c_str()) != 0) return posix_error("unlink", path, errno);
  return {};
}

Result<void> PosixFileSystem::sync_directory(const std::string& directory) {
  const auto fd = open_descriptor("open", directory, O_RDONLY | O_DIRECTORY);
  if (!fd) return fd.error();
  int result = ::fsync(fd->get());
  while (result != 0 && errno == EINTR) result = ::fsync(fd->get());
  if (result != 0) return posix_error("fsync", directory, errno);
  return {};
}

Result<FileIdentity> PosixFileSystem::identity(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return posix_error("stat", path, errno);
  return FileIdentity{status.st_dev, status.st_ino, status.st_nlink};
}

Result<std::uint64_t> PosixFileSystem::free_bytes(const std::string& directory) {
  struct statvfs status {};
  if (::statvfs(directory.c_str(), &status) != 0) return posix_error("statvfs", directory, errno);
  return static_cast<std::uint64_t>(status.f_bavail) * status.f_frsize;
}

Result<std::unique_ptr<FileLock>> PosixFileSystem::lock(const std::string& path) {
  auto fd = open_descriptor("open", path, O_RDWR | O_CREAT);
  if (!fd) return fd.error();
  int result = ::flock(fd->get(), LOCK_EX | LOCK_NB);
  while (result != 0 && errno == EINTR) result = ::flock(fd->get(), LOCK_EX | LOCK_NB);
  if (result == 0) return std::make_unique<PosixLock>(std::move(*fd));
  if (errno == EWOULDBLOCK) return Error::format(ErrorCode::locked, "lock {}: held by another process", path);
  return posix_error("lock", path, errno);
}

}  // namespace holdfast
