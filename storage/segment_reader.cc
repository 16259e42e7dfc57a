#include "storage/segment_reader.h"

#include "storage/byte_codec.h"

#include <xxhash.h>

#include <optional>

namespace holdfast {
namespace {

using namespace segment_format;
using std::chrono::nanoseconds;

constexpr std::array<std::string_view, 9> kFindingNames = {
    "valid", "zeros", "file_ends", "broken_header", "unknown", "foreign", "out_of_order", "too_long", "broken_body"};

Result<void> check_versions(std::span<const std::byte> block) {
  const auto reader = load<std::uint16_t>(block, 10);
  const auto flags = load<std::uint32_t>(block, 12);
  if (reader > kVersion) {
    return Error::format(ErrorCode::unsupported, "format {} needs a newer Holdfast; this one reads up to {}", reader,
                         kVersion);
  }
  if ((flags & ~kDowntimeOpen) != 0) {
    return Error::format(ErrorCode::unsupported, "features 0x{:08x} need a newer Holdfast", flags);
  }
  return {};
}

bool plausible(const SegmentHeader& header) noexcept {
  const bool first = header.number == 1;
  return header.number >= 1 && header.incarnation >= 1 && header.first_lsn > Lsn() &&
         header.segment_bytes % kBlockBytes == 0 && header.segment_bytes >= 2 * kBlockBytes &&
         header.segment_bytes <= kSegmentBytesMax && header.predecessor.segment == header.number - 1 &&
         header.predecessor.last_lsn.next() == header.first_lsn &&
         (first || header.predecessor.length_bytes >= kBlockBytes) &&
         header.predecessor.length_bytes % kBlockBytes == 0;
}

}  // namespace

std::string_view finding_name(BatchFinding finding) noexcept {
  return kFindingNames[static_cast<std::size_t>(finding)];
}

bool all_zero(std::span<const std::byte> bytes) noexcept {
  return bytes.empty() ||
         (bytes[0] == std::byte{0} && std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0);
}

Result<SegmentHeader> read_segment_header(std::span<const std::byte> block) {
  if (block.size() < kBlockBytes) return Error(ErrorCode::damaged, "the file is shorter than a segment's header");
  if (all_zero(block)) return Error(ErrorCode::damaged, "the segment's header is all zero");
  const bool sound = load<std::uint64_t>(block, 0) == kSegmentMagic &&
                     load<std::uint64_t>(block, kBlockBytes - 8) == XXH3_64bits(block.data(), kBlockBytes - 8);
  if (!sound) return Error(ErrorCode::damaged, "the segment's header is damaged");
  HOLDFAST_TRY(check_versions(block));
  SegmentHeader header;
  header.downtime_open = (load<std::uint32_t>(block, 12) & kDowntimeOpen) != 0;
  header.log.id = load<LogId>(block, 16);
  header.number = load<std::uint64_t>(block, 32);
  header.segment_bytes = load<std::uint64_t>(block, 40);
  header.first_lsn = Lsn(load<std::uint64_t>(block, 48));
  header.incarnation = load<std::uint64_t>(block, 56);
  header.clocks.boot_id = load<BootId>(block, 64);
  header.clocks.hold = nanoseconds(load<std::int64_t>(block, 80));
  header.clocks.wall = nanoseconds(load<std::int64_t>(block, 88));
  header.clocks.boot = nanoseconds(load<std::int64_t>(block, 96));
  header.clocks.stamp = wall_time(load<std::int64_t>(block, 104));
  header.predecessor = {load<std::uint64_t>(block, 112), Lsn(load<std::uint64_t>(block, 120)),
                        load<std::uint64_t>(block, 128), load<std::uint64_t>(block, 136)};
  header.state = {load<std::uint64_t>(block, 144), load<std::uint64_t>(block, 152)};
  header.log.forked_from_id = load<LogId>(block, 160);
  header.log.forked_from_lsn = Lsn(load<std::uint64_t>(block, 176));
  header.log.secret = load<LogSecret>(block, 184);
  if (!plausible(header)) return Error(ErrorCode::damaged, "the segment's header has impossible values");
  return header;
}

std::optional<BatchHeader> read_batch_header(std::span<const std::byte> bytes) {
  if (bytes.size() < kBatchHeaderBytes || load<std::uint32_t>(bytes, 0) != kBatchMagic) return std::nullopt;
  if (load<std::uint64_t>(bytes, 120) != XXH3_64bits(bytes.data(), kBatchHeaderBytes - 8)) return std::nullopt;
  BatchHeader header;
  header.log_tag = load<std::uint64_t>(bytes, 8);
  header.segment = load<std::uint64_t>(bytes, 16);
  header.epoch = load<std::uint64_t>(bytes, 24);
  header.first_lsn = Lsn(load<std::uint64_t>(bytes, 32));
  header.count = load<std::uint32_t>(bytes, 40);
  header.body_bytes = load<std::uint32_t>(bytes, 44);
  header.clocks.hold = nanoseconds(load<std::int64_t>(bytes, 48));
  header.clocks.wall = nanoseconds(load<std::int64_t>(bytes, 56));
  header.clocks.boot = nanoseconds(load<std::int64_t>(bytes, 64));
  header.state = {load<std::uint64_t>(bytes, 72), load<std::uint64_t>(bytes, 80)};
  header.clocks.stamp = wall_time(load<std::int64_t>(bytes, 88));
  header.durable_lsn = Lsn(load<std::uint64_t>(bytes, 96));
  header.previous_sum = load<std::uint64_t>(bytes, 104);
  header.body_sum = load<std::uint64_t>(bytes, 112);
  return header;
}

bool known_batch_format(std::span<const std::byte> header) noexcept {
  return load<std::uint32_t>(header, 4) == kVersion;  // the version, and no flags
}

bool body_is_sound(const BatchHeader& header, std::span<const std::byte> padded) noexcept {
  return XXH3_64bits_withSeed(padded.data(), padded.size(), header.previous_sum) == header.body_sum &&
         all_zero(padded.subspan(header.body_bytes));
}

SegmentReader::SegmentReader(FileWindow& window, const SegmentHeader& header)
    : window_(window), header_(header), state_(header.state), clocks_(header.clocks) {
  end_ = {header.number, header.predecessor.last_lsn, kBlockBytes, header.predecessor.sum};
}

BatchFinding SegmentReader::judge_header(const BatchHeader& header) const noexcept {
  if (header.log_tag != log_tag(header_.log.id) || header.segment != header_.number ||
      header.epoch != header_.incarnation) {
    return BatchFinding::foreign;
  }
  if (header.first_lsn != end_.last_lsn.next() || header.previous_sum != end_.sum || header.count == 0 ||
      header.durable_lsn >= header.first_lsn || header.last_lsn() < header.first_lsn) {
    return BatchFinding::out_of_order;
  }
  const std::uint64_t bytes = padded_bytes(header.body_bytes);
  if (bytes > kBatchBytesMax || bytes > header_.segment_bytes - end_.length_bytes) return BatchFinding::too_long;
  return BatchFinding::valid;
}

Result<FoundBatch> SegmentReader::next() {
  FoundBatch found;
  found.offset = end_.length_bytes;
  const auto finding = [&found](BatchFinding what) {
    found.finding = what;
    return found;
  };
  if (end_.length_bytes >= header_.segment_bytes) return finding(BatchFinding::file_ends);
  auto block = window_.view(end_.length_bytes, kBlockBytes);
  if (!block) return block.error();
  if (block->size() < kBlockBytes) return finding(BatchFinding::file_ends);
  const auto header = read_batch_header(*block);
  if (!header) return finding(all_zero(*block) ? BatchFinding::zeros : BatchFinding::broken_header);
  found.header = *header;
  if (!known_batch_format(*block)) return finding(BatchFinding::unknown);
  if (const auto verdict = judge_header(*header); verdict != BatchFinding::valid) return finding(verdict);
  const std::size_t bytes = padded_bytes(header->body_bytes);
  auto whole = window_.view(end_.length_bytes, bytes);
  if (!whole) return whole.error();
  if (whole->size() < bytes) return finding(BatchFinding::file_ends);
  const auto padded = whole->subspan(kBatchHeaderBytes);
  if (!body_is_sound(*header, padded)) return finding(BatchFinding::broken_body);
  end_ = {header_.number, header->last_lsn(), end_.length_bytes + bytes, header->body_sum};
  state_ = header->state;
  clocks_ = header->clocks;
  clocks_.boot_id = header_.clocks.boot_id;
  found.header.clocks.boot_id = header_.clocks.boot_id;
  found.body = padded.first(header->body_bytes);
  found.whole = *whole;
  return finding(BatchFinding::valid);
}

}  // namespace holdfast
