// An open file of the machine: the File that posix_file_system.h hands out. One thread per file.
#pragma once

#include "storage/file_system.h"

namespace holdfast {

/// "call path: reason", with the code that file_system.h gives this errno.
Error posix_error(std::string_view call, const std::string& path, int error_number);

/// Closes the descriptor it owns.
class Descriptor {
 public:
  explicit Descriptor(int fd = -1) noexcept : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor();
  int get() const noexcept { return fd_; }

 private:
  int fd_;
};

/// open(2) with O_CLOEXEC and mode 0600, again after EINTR.
Result<Descriptor> open_descriptor(std::string_view call, const std::string& path, int flags);

class PosixFile final : public File {
 public:
  /// Opens as OpenMode says; direct where the file system allows it.
  static Result<std::unique_ptr<File>> open(const std::string& path, OpenMode mode);

  Result<std::size_t> read(std::uint64_t offset, std::span<std::byte> into) override;
  Result<void> write(std::uint64_t offset, std::span<const std::byte> bytes) override;
  Result<void> write_durable(std::uint64_t offset, std::span<const std::byte> bytes) override;
  Result<void> sync() override;
  Result<std::uint64_t> size() override;
  Result<FileIdentity> identity() override;

  /// Whether reads and writes pass the page cache (O_DIRECT).
  bool direct() const noexcept { return direct_; }

 private:
  PosixFile(Descriptor fd, std::string path, OpenMode mode, bool direct)
      : fd_(std::move(fd)), path_(std::move(path)), mode_(mode), direct_(direct) {}

  Result<std::size_t> read_plain(std::uint64_t offset, std::span<std::byte> into);
  Result<std::size_t> read_direct(std::uint64_t offset, std::span<std::byte> into);
  Error error(std::string_view call, int error_number) const { return posix_error(call, path_, error_number); }

  Descriptor fd_;
  std::string path_;
  OpenMode mode_;
  bool direct_;
};

}  // namespace holdfast
