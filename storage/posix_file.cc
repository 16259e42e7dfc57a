#include "storage/posix_file.h"

#include "protocol/check.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cerrno>
#include <cstring>
#include <new>
#include <system_error>

namespace holdfast {
namespace {

constexpr std::size_t kBounceBytes = 256_KiB;  // aligned buffer through which direct reads go
constexpr mode_t kFileMode = 0600;

/// Makes the call again while a signal interrupts it.
template <class Call>
auto retrying(Call&& call) {
  auto result = call();
  while (result == -1 && errno == EINTR) result = call();
  return result;
}

off_t to_off(std::uint64_t offset) noexcept { return static_cast<off_t>(offset); }

bool aligned(std::uint64_t offset, const void* bytes, std::size_t size) noexcept {
  return offset % kBlockBytes == 0 && size % kBlockBytes == 0 &&
         reinterpret_cast<std::uintptr_t>(bytes) % kBlockBytes == 0;
}

class BounceBuffer {
 public:
  BounceBuffer() : bytes_(static_cast<std::byte*>(::operator new (kBounceBytes, std::align_val_t{kBlockBytes}))) {}
  ~BounceBuffer() { ::operator delete (bytes_, std::align_val_t{kBlockBytes}); }
  BounceBuffer(const BounceBuffer&) = delete;
  BounceBuffer& operator=(const BounceBuffer&) = delete;
  std::byte* data() const noexcept { return bytes_; }

 private:
  std::byte* bytes_;
};

/// Some file systems take O_DIRECT at open and refuse it at the first call.
bool takes_direct_reads(int fd) {
  const BounceBuffer buffer;
  return retrying([&] { return ::pread(fd, buffer.data(), kBlockBytes, 0); }) >= 0 || errno != EINVAL;
}

int open_flags(OpenMode mode) noexcept {
  switch (mode) {
    case OpenMode::read:
      return O_RDONLY;
    case OpenMode::read_suspicious:
      return O_RDONLY | O_DIRECT;
    case OpenMode::create:
      return O_RDWR | O_CREAT | O_EXCL;
    case OpenMode::write:
      return O_RDWR;
    case OpenMode::for_durable_writes:
      return O_RDWR | O_DIRECT | O_DSYNC;
  }
  CHECK(false);
}

ErrorCode code_of(int error_number) noexcept {
  switch (error_number) {
    case ENOSPC:
    case EDQUOT:
      return ErrorCode::no_space;
    case ENOENT:
      return ErrorCode::not_found;
    default:
      return ErrorCode::io_failed;
  }
}

}  // namespace

Error posix_error(std::string_view call, const std::string& path, int error_number) {
  return Error::format(code_of(error_number), "{} {}: {}", call, path, std::system_category().message(error_number));
}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

Descriptor::~Descriptor() {
  if (fd_ >= 0) ::close(fd_);  // nothing rests on it: durability is sync()'s
}

Result<Descriptor> open_descriptor(std::string_view call, const std::string& path, int flags) {
  const int fd = retrying([&] { return ::open(path.c_str(), flags | O_CLOEXEC, kFileMode); });
  if (fd < 0) return posix_error(call, path, errno);
  return Descriptor(fd);
}

Result<std::unique_ptr<File>> PosixFile::open(const std::string& path, OpenMode mode) {
  const int flags = open_flags(mode);
  bool direct = (flags & O_DIRECT) != 0;
  if (direct) {
    const int fd = retrying([&] { return ::open(path.c_str(), flags | O_CLOEXEC); });
    if (fd < 0 && errno != EINVAL) return posix_error("open", path, errno);
    Descriptor direct_fd(fd);
    if (fd >= 0 && takes_direct_reads(fd)) {
      return std::unique_ptr<File>(new PosixFile(std::move(direct_fd), path, mode, true));
    }
  }
  auto fd = open_descriptor(mode == OpenMode::create ? "create" : "open", path, flags & ~(O_DIRECT | O_DSYNC));
  if (!fd) return fd.error();
  if (mode == OpenMode::read_suspicious) {
    const int failed = ::posix_fadvise(fd->get(), 0, 0, POSIX_FADV_DONTNEED);
    if (failed != 0) return posix_error("posix_fadvise", path, failed);
  }
  return std::unique_ptr<File>(new PosixFile(std::move(*fd), path, mode, false));
}

Result<std::size_t> PosixFile::read(std::uint64_t offset, std::span<std::byte> into) {
  return direct_ && !aligned(offset, into.data(), into.size()) ? read_direct(offset, into) : read_plain(offset, into);
}

Result<std::size_t> PosixFile::read_plain(std::uint64_t offset, std::span<std::byte> into) {
  std::size_t done = 0;
  while (done < into.size()) {
    const auto got =
        retrying([&] { return ::pread(fd_.get(), into.data() + done, into.size() - done, to_off(offset + done)); });
    if (got < 0) return error("read", errno);
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
    // A direct read stops short only at the end of the file, and could not go on from an unaligned offset.
    if (direct_ && done % kBlockBytes != 0) break;
  }
  return done;
}

Result<std::size_t> PosixFile::read_direct(std::uint64_t offset, std::span<std::byte> into) {
  const BounceBuffer bounce;
  std::size_t done = 0;
  while (done < into.size()) {
    const std::uint64_t begin = (offset + done) / kBlockBytes * kBlockBytes;
    const std::size_t skip = static_cast<std::size_t>(offset + done - begin);
    const std::size_t want =
        std::min(kBounceBytes, (skip + into.size() - done + kBlockBytes - 1) / kBlockBytes * kBlockBytes);
    const auto got = read_plain(begin, {bounce.data(), want});
    if (!got) return got;
    if (*got <= skip) break;
    const std::size_t part = std::min(*got - skip, into.size() - done);
    std::memcpy(into.data() + done, bounce.data() + skip, part);
    done += part;
    if (*got < want) break;
  }
  return done;
}

Result<void> PosixFile::write(std::uint64_t offset, std::span<const std::byte> bytes) {
  CHECK(mode_ == OpenMode::create || mode_ == OpenMode::write);
  for (std::size_t done = 0; done < bytes.size();) {
    const auto wrote =
        retrying([&] { return ::pwrite(fd_.get(), bytes.data() + done, bytes.size() - done, to_off(offset + done)); });
    if (wrote < 0) return error("write", errno);
    if (wrote == 0) return error("write", EIO);
    done += static_cast<std::size_t>(wrote);  // after a short write the next one tells the reason
  }
  return {};
}

Result<void> PosixFile::write_durable(std::uint64_t offset, std::span<const std::byte> bytes) {
  CHECK(mode_ == OpenMode::for_durable_writes);
  CHECK(aligned(offset, bytes.data(), bytes.size()));
  const auto wrote = retrying([&] { return ::pwrite(fd_.get(), bytes.data(), bytes.size(), to_off(offset)); });
  if (wrote < 0) return error("write", errno);
  if (static_cast<std::size_t>(wrote) != bytes.size()) {
    return Error::format(ErrorCode::io_failed, "write {}: only {} of {} bytes at {}", path_, wrote, bytes.size(),
                         offset);
  }
  return direct_ ? Result<void>{} : sync();
}

Result<void> PosixFile::sync() {
  if (retrying([&] { return ::fdatasync(fd_.get()); }) != 0) return error("fdatasync", errno);
  return {};
}

Result<std::uint64_t> PosixFile::size() {
  struct stat status {};
  if (::fstat(fd_.get(), &status) != 0) return error("fstat", errno);
  return static_cast<std::uint64_t>(status.st_size);
}

Result<FileIdentity> PosixFile::identity() {
  struct stat status {};
  if (::fstat(fd_.get(), &status) != 0) return error("fstat", errno);
  return FileIdentity{status.st_dev, status.st_ino, status.st_nlink};
}

}  // namespace holdfast
