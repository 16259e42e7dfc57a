#include "storage/segment_preparer.h"

#include "protocol/check.h"
#include "storage/aligned_buffer.h"
#include "storage/limits.h"
#include "storage/log_files.h"

namespace holdfast {
namespace {

Result<void> fill_with_zeros(File& file, std::uint64_t bytes) {
  AlignedBuffer buffer;
  const std::uint64_t piece = std::min<std::uint64_t>(bytes, kZeroFillBytes);
  const auto zeros = buffer.reserve(piece);
  std::fill(zeros.begin(), zeros.end(), std::byte{0});
  for (std::uint64_t at = 0; at < bytes; at += piece) {
    HOLDFAST_TRY(file.write(at, zeros.first(std::min(piece, bytes - at))));
    // Piece by piece, so that the device's queue stays short for the batches that are written meanwhile.
    HOLDFAST_TRY(file.sync());
  }
  return {};
}

}  // namespace

Result<void> prepare_segment(FileSystem& files, const SegmentRequest& request) {
  CHECK(request.bytes >= 2 * kBlockBytes && request.bytes % kBlockBytes == 0 && request.bytes <= kSegmentBytesMax);
  const std::string temporary = temporary_path(request.path);
  const auto leftover = files.exists(temporary);
  if (!leftover) return leftover.error();
  if (*leftover) HOLDFAST_TRY(files.remove(temporary));
  auto file = files.open(temporary, OpenMode::create);
  if (!file) return file.error();
  HOLDFAST_TRY(fill_with_zeros(**file, request.bytes));
  file->reset();
  HOLDFAST_TRY(files.rename(temporary, request.path));
#if HOLDFAST_MUTANT == 2
  return {};
#else
  return files.sync_directory(request.directory);
#endif
}

std::optional<Result<void>> InlinePreparer::poll() { return std::exchange(outcome_, std::nullopt); }

}  // namespace holdfast
