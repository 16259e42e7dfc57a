// Writes the mark: the slot that is not the newest, never synced, so that it costs no flush and a torn write leaves the
// other slot. Creating the file is synced. One thread.
#pragma once

#include "storage/file_system.h"
#include "storage/mark_format.h"

namespace holdfast {

/// Fills the first kSlotBytes of a slot.
void write_mark_slot(std::span<std::byte> slot, const Mark& mark);

class MarkWriter {
 public:
  /// `counter`: the newest that the file holds.
  MarkWriter(FileSystem& files, std::string directory, std::uint64_t counter)
      : files_(files), directory_(std::move(directory)), counter_(counter) {}

  /// Numbers and writes the mark; opens or creates the file first when it is not open. After an error the file is
  /// opened anew next time.
  Result<void> write(Mark mark);

 private:
  Result<void> open();
  Result<void> create();

  FileSystem& files_;
  std::string directory_;
  std::uint64_t counter_;
  std::unique_ptr<File> file_;
};

}  // namespace holdfast
