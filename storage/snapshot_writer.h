// Makes a snapshot's file: driven with a state, it writes, and at the end publishes it under its name. One thread.
#pragma once

#include "storage/file_system.h"
#include "storage/snapshot.h"

#include <memory>
#include <vector>

namespace holdfast {

class SnapshotWriter final : public SnapshotVisitor {
 public:
  /// Begins `snapshot-LSN.tmp` in the directory, anew where one is left over; `suffix` is put to the name that it is to
  /// have. Errors: io_failed, no_space; of the calls below, too.
  static Result<std::unique_ptr<SnapshotWriter>> begin(FileSystem& files, const std::string& directory,
                                                       const SnapshotHeader& header, std::string_view suffix = {});

  Result<void> on_log(const SnapshotLog& log) override;
  Result<void> on_name(const SnapshotName& name) override;
  Result<void> on_version(const SnapshotVersion& version) override;
  Result<void> on_item(const SnapshotItem& item) override;
  Result<void> on_row(const SnapshotRow& row) override;
  Result<void> on_order(std::span<const std::uint32_t> slots) override;
  Result<void> on_adjust(const ReservationId& id, std::int64_t delta) override;
  Result<void> on_item_end() override;

  /// Ends the file, makes it durable, gives it its name, makes that durable. Only then does the snapshot exist.
  Result<void> publish();
  /// So far.
  const SnapshotTotals& totals() const noexcept { return totals_; }
  std::uint64_t bytes() const noexcept { return written_; }

 private:
  class Draft;
  SnapshotWriter(FileSystem& files, std::string directory, const SnapshotHeader& header, std::string_view suffix);
  Result<void> open();
  void append(const Draft& draft);
  Result<void> put(const Draft& draft);
  Result<void> close_chunk(std::uint32_t magic);

  FileSystem& files_;
  std::string directory_;
  SnapshotHeader header_;
  std::string path_;
  std::unique_ptr<File> file_;
  std::vector<std::byte> chunk_;
  std::uint64_t sum_ = 0;  // of the chunk before
  std::uint64_t written_ = 0;
  SnapshotTotals totals_;
  ItemNumber item_;
  std::uint32_t next_slot_ = 0;
  std::uint64_t item_rows_ = 0;
};

/// The first block. REQUIRES: an LSN and an incarnation.
void write_snapshot_header(std::span<std::byte, kBlockBytes> block, const SnapshotHeader& header);
/// What totals_.rows_hash sums for a row: `encoded` is the entry without its slot.
StateHash hash_snapshot_row(ItemNumber item, std::span<const std::byte> encoded) noexcept;

}  // namespace holdfast
