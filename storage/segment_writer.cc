#include "storage/segment_writer.h"

#include "protocol/check.h"
#include "storage/byte_codec.h"

#include <xxhash.h>

namespace holdfast {

using namespace segment_format;

std::uint64_t log_tag(const LogId& id) noexcept { return load<std::uint64_t>(std::as_bytes(std::span(id)), 0); }

void write_segment_header(std::span<std::byte, kBlockBytes> block, const SegmentHeader& header) {
  CHECK(header.number >= 1 && header.incarnation >= 1 && header.first_lsn > Lsn());
  std::fill(block.begin(), block.end(), std::byte{0});
  store(block, 0, kSegmentMagic);
  store(block, 8, kVersion);
  store(block, 10, kVersion);  // the oldest reader that understands it
  store(block, 12, header.downtime_open ? kDowntimeOpen : 0U);
  store(block, 16, header.log.id);
  store(block, 32, header.number);
  store(block, 40, header.segment_bytes);
  store(block, 48, header.first_lsn.value());
  store(block, 56, header.incarnation);
  store(block, 64, header.clocks.boot_id);
  store(block, 80, header.clocks.hold.count());
  store(block, 88, header.clocks.wall.count());
  store(block, 96, header.clocks.boot.count());
  store(block, 104, to_ms(header.clocks.stamp));
  store(block, 112, header.predecessor.segment);
  store(block, 120, header.predecessor.last_lsn.value());
  store(block, 128, header.predecessor.length_bytes);
  store(block, 136, header.predecessor.sum);
  store(block, 144, header.state.low);
  store(block, 152, header.state.high);
  store(block, 160, header.log.forked_from_id);
  store(block, 176, header.log.forked_from_lsn.value());
  store(block, 184, header.log.secret);
  store(block, kBlockBytes - 8, XXH3_64bits(block.data(), kBlockBytes - 8));
}

void seal_batch(std::span<std::byte> batch, BatchHeader& header) {
  CHECK(batch.size() == padded_bytes(header.body_bytes) && header.count > 0 && header.first_lsn > Lsn());
  const auto body = batch.subspan(kBatchHeaderBytes);
  header.body_sum = XXH3_64bits_withSeed(body.data(), body.size(), header.previous_sum);
  store(batch, 0, kBatchMagic);
  store(batch, 4, kVersion);
  store(batch, 6, std::uint16_t{0});  // flags
  store(batch, 8, header.log_tag);
  store(batch, 16, header.segment);
  store(batch, 24, header.epoch);
  store(batch, 32, header.first_lsn.value());
  store(batch, 40, header.count);
  store(batch, 44, header.body_bytes);
  store(batch, 48, header.clocks.hold.count());
  store(batch, 56, header.clocks.wall.count());
  store(batch, 64, header.clocks.boot.count());
  store(batch, 72, header.state.low);
  store(batch, 80, header.state.high);
  store(batch, 88, to_ms(header.clocks.stamp));
  store(batch, 96, header.durable_lsn.value());
  store(batch, 104, header.previous_sum);
  store(batch, 112, header.body_sum);
  store(batch, 120, XXH3_64bits(batch.data(), kBatchHeaderBytes - 8));
}

}  // namespace holdfast
