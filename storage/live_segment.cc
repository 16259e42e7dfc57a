#include "storage/live_segment.h"

#include "protocol/check.h"
#include "storage/segment_writer.h"

namespace holdfast {
namespace {

#if HOLDFAST_MUTANT == 1
constexpr bool kEachWriteDurable = false;
#else
constexpr bool kEachWriteDurable = true;
#endif

OpenMode mode_for(FsyncPolicy fsync) noexcept {
  return fsync == FsyncPolicy::always && kEachWriteDurable ? OpenMode::for_durable_writes : OpenMode::write;
}

}  // namespace

Result<std::unique_ptr<LiveSegment>> LiveSegment::open(FileSystem& files, const std::string& path, FsyncPolicy fsync) {
  std::unique_ptr<LiveSegment> live(new LiveSegment(files, path, fsync));
  auto file = files.open(path, mode_for(fsync));
  if (!file) return file.error();
  live->file_ = std::move(*file);
  const auto size = live->file_->size();
  if (!size) return size.error();
  live->bytes_ = *size;
  const auto identity = live->file_->identity();
  if (!identity) return identity.error();
  live->identity_ = *identity;
  return live;
}

Result<void> LiveSegment::begin(const SegmentHeader& header) {
  CHECK(header.segment_bytes == bytes_ && end_.length_bytes == 0);
  AlignedBuffer buffer;
  const auto block = buffer.reserve(kBlockBytes).first<kBlockBytes>();
  write_segment_header(block, header);
  HOLDFAST_TRY(write(0, block));
  HOLDFAST_TRY(flush());
  end_ = {header.number, header.predecessor.last_lsn, kBlockBytes, header.predecessor.sum};
  return {};
}

Result<void> LiveSegment::append(std::span<const std::byte> batch, const BatchHeader& header) {
  CHECK(end_.length_bytes >= kBlockBytes && batch.size() <= free_bytes() && batch.size() % kBlockBytes == 0);
  CHECK(header.first_lsn == end_.last_lsn.next() && header.previous_sum == end_.sum);
  HOLDFAST_TRY(write(end_.length_bytes, batch));
  end_ = {end_.segment, header.last_lsn(), end_.length_bytes + batch.size(), header.body_sum};
  return {};
}

Result<void> LiveSegment::flush() {
  if (mode_for(fsync_) == OpenMode::for_durable_writes) return {};
  return file_->sync();
}

Result<void> LiveSegment::write(std::uint64_t offset, std::span<const std::byte> bytes) {
  if (mode_for(fsync_) == OpenMode::for_durable_writes) return file_->write_durable(offset, bytes);
  return file_->write(offset, bytes);
}

Result<bool> LiveSegment::still_on_disk() {
  const auto now = files_.identity(path_);
  if (!now) {
    if (now.error().code() == ErrorCode::not_found) return false;
    return now.error();
  }
  return now->device == identity_.device && now->inode == identity_.inode && now->links > 0;
}

}  // namespace holdfast
