// Encodes the header of a segment and the header of a batch. Pure; any thread.
#pragma once

#include "storage/segment_format.h"

#include <span>

namespace holdfast {

/// Fills a segment's first block.
void write_segment_header(std::span<std::byte, kBlockBytes> block, const SegmentHeader& header);

/// Completes a batch in place: `batch` is kBatchHeaderBytes, the records (header.body_bytes of them), zeros up to a
/// multiple of kBlockBytes. Computes and stores header.body_sum.
void seal_batch(std::span<std::byte> batch, BatchHeader& header);

}  // namespace holdfast
