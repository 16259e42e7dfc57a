// Decodes the records of one batch and drives a visitor. Survives any bytes: what is not exactly what the writer makes
// is an error. No state; any thread. Never allocates, but for the definition's texts.
#pragma once

#include "storage/record.h"

#include <cstddef>
#include <span>

namespace holdfast {

/// Receives what a RecordVisitor does not: for dumps.
class RecordExtras {
 public:
  virtual ~RecordExtras() = default;
  virtual void on_clock(const RecordStamp& stamp) = 0;
  /// An ignorable record of a type that this version does not know.
  virtual void on_unknown(const RecordStamp& stamp, std::uint8_t type, std::size_t bytes) = 0;
};

/// The records of one batch.
struct BatchBody {
  std::span<const std::byte> bytes;  // without header and padding
  Lsn first_lsn;
  std::uint32_t count = 0;
  Lsn skip_through;  // records up to here are checked, but not given to the visitor
};

/// What reading a body found.
struct BodySummary {
  std::uint64_t visited = 0;  // records given to the visitor
  WallTime wall_max{};        // the latest wall stamp
};

/// Errors: `damaged` for bytes that no writer makes, `unsupported` for a critical type or flag this version does not
/// know, and the visitor's own; each says "record n".
Result<BodySummary> read_records(const BatchBody& body, RecordVisitor& visitor, RecordExtras* extras = nullptr);

/// The leading records of a batch.
struct LeadingRecords {
  std::uint32_t count = 0;
  std::size_t bytes = 0;
};
/// Those up to the LSN `through` and before the first one later than `until`, without the part of a step: the records of
/// one have the same stamp, and no CLOCK record between them. Survives any bytes; means something for sound ones.
LeadingRecords leading_steps(const BatchBody& body, Lsn through, WallTime until);

/// Counts the records of sound bytes by their first bytes alone, for readers that want to know what to expect. Stops at
/// bytes that are no record.
struct RecordCount {
  std::uint32_t records = 0;
  std::uint32_t clocks = 0;      // of them CLOCK
  std::uint32_t after_last = 0;  // CLOCK records behind the last other one
  bool items = false;            // whether there are item records
};
RecordCount count_records(std::span<const std::byte> bytes) noexcept;

}  // namespace holdfast
