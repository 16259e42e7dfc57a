// The one interface through which the log reaches files and directories. Three implementations: the machine's
// (posix_file_system.h), the simulated disk of the tests, and the machine's under a preloaded shim that injects faults.
//
// Calls are blocking and made by one thread per file. Errors carry the call, the path and the reason; `no_space` is
// ENOSPC and EDQUOT, `not_found` ENOENT, `locked` a lock held elsewhere, `io_failed` everything else. EINTR is retried
// inside. Nothing is durable before the sync that covers it: a file's bytes by sync() (or by write_durable()), a name
// by sync_directory().
#pragma once

#include "protocol/error.h"
#include "protocol/types.h"

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace holdfast {

/// Alignment of buffers, offsets and lengths for durable writes, and the unit in which the log is laid out.
inline constexpr std::size_t kBlockBytes = 4096;

/// Which file a descriptor or a path refers to, to see whether they are the same one.
struct FileIdentity {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t links = 0;
  bool operator==(const FileIdentity&) const noexcept = default;
};

class File {
 public:
  virtual ~File() = default;
  /// Fills the whole span from `offset`; returns how many bytes were read, fewer only at the end of the file.
  virtual Result<std::size_t> read(std::uint64_t offset, std::span<std::byte> into) = 0;
  /// Writes the whole span at `offset`. Not durable until sync(). REQUIRES: opened to create or to write.
  virtual Result<void> write(std::uint64_t offset, std::span<const std::byte> bytes) = 0;
  /// Writes the whole span and returns only when it is durable. REQUIRES: opened for_durable_writes; buffer, offset and
  /// length multiples of kBlockBytes; the range lies inside the file.
  virtual Result<void> write_durable(std::uint64_t offset, std::span<const std::byte> bytes) = 0;
  /// Makes the file's bytes and its length durable. After a failure nothing about them is known.
  virtual Result<void> sync() = 0;
  virtual Result<std::uint64_t> size() = 0;
  virtual Result<FileIdentity> identity() = 0;
};

enum class OpenMode : std::uint8_t {
  read,                // must exist
  read_suspicious,     // must exist; past the page cache where the file system allows it, after a failed flush
  create,              // must not exist; read and write
  write,               // must exist; read and write
  for_durable_writes,  // must exist; O_DIRECT|O_DSYNC where the file system takes it, else buffered and synced
};

/// An exclusive lock, held until destroyed.
class FileLock {
 public:
  virtual ~FileLock() = default;
};

class FileSystem {
 public:
  virtual ~FileSystem() = default;
  virtual Result<std::unique_ptr<File>> open(const std::string& path, OpenMode mode) = 0;
  /// Names in the directory, sorted, without "." and "..".
  virtual Result<std::vector<std::string>> list(const std::string& directory) = 0;
  virtual Result<bool> exists(const std::string& path) = 0;
  /// Creates the directory (mode 0700) and its missing parents, durably; it may exist.
  virtual Result<void> make_directory(const std::string& directory) = 0;
  virtual Result<void> rename(const std::string& from, const std::string& to) = 0;
  virtual Result<void> remove(const std::string& path) = 0;
  virtual Result<void> sync_directory(const std::string& directory) = 0;
  virtual Result<FileIdentity> identity(const std::string& path) = 0;
  /// Bytes that may still be written below this directory.
  virtual Result<std::uint64_t> free_bytes(const std::string& directory) = 0;
  /// Takes the lock on this file, creating it (mode 0600); `locked` when another process has it.
  virtual Result<std::unique_ptr<FileLock>> lock(const std::string& path) = 0;
};

}  // namespace holdfast
