#include "storage/snapshot_reader.h"

#include "storage/snapshot_entries.h"
#include "storage/snapshot_format.h"

#include <xxhash.h>

#include <array>

namespace holdfast {

using namespace snapshot_format;
using std::chrono::nanoseconds;

Result<SnapshotHeader> read_snapshot_header(std::span<const std::byte> block) {
  if (block.size() < kBlockBytes || load<std::uint64_t>(block, 0) != kMagic) {
    return Error(ErrorCode::damaged, "it does not begin as a snapshot");
  }
  std::array<std::byte, kBlockBytes> blank;
  std::copy_n(block.begin(), kBlockBytes, blank.begin());
  store(blank, kSecretOffset, LogSecret{});
  if (load<std::uint64_t>(block, kBlockBytes - 8) != XXH3_64bits(blank.data(), kBlockBytes - 8)) {
    return Error(ErrorCode::damaged, "the snapshot's header is damaged");
  }
  if (const auto reader = load<std::uint16_t>(block, 10); reader > kVersion) {
    return Error::format(ErrorCode::unsupported, "format {} needs a newer Holdfast; this one reads up to {}", reader,
                         kVersion);
  }
  SnapshotHeader header;
  header.log.id = load<LogId>(block, 16);
  header.lsn = Lsn(load<std::uint64_t>(block, 32));
  header.incarnation = load<std::uint64_t>(block, 40);
  header.clocks.boot_id = load<BootId>(block, 64);
  header.clocks.hold = nanoseconds(load<std::int64_t>(block, 80));
  header.clocks.wall = nanoseconds(load<std::int64_t>(block, 88));
  header.clocks.boot = nanoseconds(load<std::int64_t>(block, 96));
  header.clocks.stamp = wall_time(load<std::int64_t>(block, 104));
  header.state = {load<std::uint64_t>(block, 144), load<std::uint64_t>(block, 152)};
  header.log.forked_from_id = load<LogId>(block, 160);
  header.log.forked_from_lsn = Lsn(load<std::uint64_t>(block, 176));
  header.log.secret = load<LogSecret>(block, kSecretOffset);
  if (header.lsn == Lsn() || header.incarnation == 0) {
    return Error(ErrorCode::damaged, "the snapshot's header has impossible values");
  }
  return header;
}

Result<SnapshotReader> SnapshotReader::open(FileSystem& files, const std::string& path) {
  auto window = FileWindow::open(files, path, OpenMode::read);
  if (!window) return window.error();
  const auto block = window->view(0, kBlockBytes);
  if (!block) return block.error();
  const auto header = read_snapshot_header(*block);
  if (!header) return Error::format(header.error().code(), "{}: {}", path, header.error().text());
  const auto sum = load<std::uint64_t>(*block, kBlockBytes - 8);
  return SnapshotReader(std::move(*window), *header, sum);
}

void SnapshotReader::rewind() noexcept {
  sum_ = first_sum_;
  at_ = kBlockBytes;
}

Error SnapshotReader::damaged(std::uint64_t offset, std::string_view what) const {
  return Error::format(ErrorCode::damaged, "{} at offset {}: {}", window_.path(), offset, what);
}

Result<SnapshotReader::Chunk> SnapshotReader::next() {
  const auto head = window_.view(at_, kChunkHeaderBytes);
  if (!head) return head.error();
  if (head->empty()) return damaged(at_, "the snapshot's end is missing");
  if (head->size() < kChunkHeaderBytes) return damaged(at_, "the file ends within a chunk");
  const auto magic = load<std::uint32_t>(*head, 0);
  const auto bytes = load<std::uint32_t>(*head, 4);
  const auto sum = load<std::uint64_t>(*head, 8);
  if ((magic != kChunkMagic && magic != kLastChunkMagic) || bytes == 0 || bytes > kChunkBytesMax) {
    return damaged(at_, "no chunk begins here");
  }
  const auto payload = window_.view(at_ + kChunkHeaderBytes, bytes);
  if (!payload) return payload.error();
  if (payload->size() < bytes) return damaged(at_, "the file ends within a chunk");
  if (XXH3_64bits_withSeed(payload->data(), payload->size(), sum_) != sum) {
    return damaged(at_, "the chunk's sum is wrong");
  }
  const Chunk chunk{at_, magic == kLastChunkMagic, *payload};
  sum_ = sum;
  at_ += kChunkHeaderBytes + bytes;
  if (chunk.last && at_ != window_.size()) return damaged(at_, "bytes follow the last chunk");
  return chunk;
}

Result<void> SnapshotReader::verify(const Progress& progress) {
  rewind();
  for (bool last = false; !last;) {
    const auto chunk = next();
    if (!chunk) return chunk.error();
    last = chunk->last;
    if (progress) progress(at_);
  }
  return {};
}

Result<SnapshotTotals> SnapshotReader::read(SnapshotVisitor& visitor, const Progress& progress) {
  rewind();
  SnapshotEntries entries(visitor);
  for (bool last = false; !last;) {
    const auto chunk = next();
    if (!chunk) return chunk.error();
    last = chunk->last;
    if (const auto done = entries.read(chunk->payload); !done) {
      return Error::format(done.error().code(), "{} in the chunk at offset {}: {}", window_.path(), chunk->offset,
                           done.error().text());
    }
    if (progress) progress(at_);
  }
  if (!entries.ended()) return damaged(at_, "the snapshot's last entry is missing");
  return entries.totals();
}

}  // namespace holdfast
