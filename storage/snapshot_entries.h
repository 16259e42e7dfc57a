// Reads the entries of a snapshot's chunks, one after another, and drives a visitor. Between snapshot_reader.cc, which
// knows that the bytes are the ones written, and the visitor, which judges the state. Survives any bytes. One thread.
#pragma once

#include "storage/byte_codec.h"
#include "storage/snapshot.h"

namespace holdfast {

class SnapshotEntries {
 public:
  explicit SnapshotEntries(SnapshotVisitor& visitor) noexcept : visitor_(visitor) {}

  /// All entries of one chunk. Errors: damaged, unsupported (an entry of a newer version), the visitor's own.
  Result<void> read(std::span<const std::byte> payload);
  /// Whether the last entry was read, with totals that are those counted.
  bool ended() const noexcept { return ended_; }
  const SnapshotTotals& totals() const noexcept { return totals_; }

 private:
  Result<void> read_entry(ByteReader& in);
  Result<void> read_log(ByteReader& in);
  Result<void> read_name(ByteReader& in);
  Result<void> read_version(ByteReader& in);
  Result<void> read_item(ByteReader& in);
  Result<void> read_row(ByteReader& in);
  Result<void> read_order(ByteReader& in);
  Result<void> read_adjust(ByteReader& in);
  Result<void> read_item_end(ByteReader& in);
  Result<void> read_end(ByteReader& in);

  SnapshotVisitor& visitor_;
  SnapshotTotals totals_;
  bool has_log_ = false;
  bool in_item_ = false;
  bool ended_ = false;
  ItemNumber item_;
  std::uint64_t next_slot_ = 0;
  std::uint64_t slots_ = 0;
  std::uint64_t item_rows_ = 0;
};

}  // namespace holdfast
