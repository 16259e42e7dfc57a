#include "storage/file_window.h"

#include "protocol/check.h"
#include "storage/limits.h"

namespace holdfast {
namespace {

constexpr std::uint64_t kWindowBytes = 1_MiB;

}  // namespace

Result<FileWindow> FileWindow::open(FileSystem& files, const std::string& path, OpenMode mode) {
  auto file = files.open(path, mode);
  if (!file) return file.error();
  const auto size = (*file)->size();
  if (!size) return size.error();
  return FileWindow(std::move(*file), path, *size);
}

Result<std::span<const std::byte>> FileWindow::view(std::uint64_t offset, std::size_t bytes) {
  CHECK(bytes <= kBatchBytesMax);
  if (offset >= size_) return std::span<const std::byte>();
  const std::uint64_t end = std::min(size_, offset + bytes);
  if (offset < begin_ || end > begin_ + filled_) {
    begin_ = offset / kBlockBytes * kBlockBytes;
    filled_ = 0;
    const std::uint64_t wanted = std::min(std::max(end - begin_, kWindowBytes), size_ - begin_);
    // Rounded up to a block for direct I/O; the file's end comes back as a short read.
    const auto into = buffer_.reserve(wanted);
    const std::size_t rounded = (wanted + kBlockBytes - 1) / kBlockBytes * kBlockBytes;
    const auto got = file_->read(begin_, into.first(rounded));
    if (!got) {
      return Error::format(got.error().code(), "{} (at offset {} of {})", got.error().text(), begin_, path_);
    }
    filled_ = *got;
    if (end > begin_ + filled_) {
      return Error::format(ErrorCode::io_failed, "read {}: it shrank to {} bytes meanwhile", path_, begin_ + filled_);
    }
  }
  return std::span<const std::byte>(buffer_.bytes()).subspan(offset - begin_, end - offset);
}

}  // namespace holdfast
