// The machine's files and directories. No state: one object serves all threads.
//
// Files are made with mode 0600, directories with 0700. A file opened for_durable_writes uses O_DIRECT|O_DSYNC
// where its file system takes both, else the page cache and fdatasync; one opened read_suspicious reads with
// O_DIRECT, else after asking the kernel to drop its cached pages. Any errno of a sync is an error, EBADF and
// EINVAL included.
#pragma once

#include "storage/file_system.h"

namespace holdfast {

class PosixFileSystem final : public FileSystem {
 public:
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
};

}  // namespace holdfast
