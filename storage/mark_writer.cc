#include "storage/mark_writer.h"

#include "storage/byte_codec.h"
#include "storage/log_files.h"

#include <xxhash.h>

#include <array>

namespace holdfast {

using namespace mark_format;

void write_mark_slot(std::span<std::byte> slot, const Mark& mark) {
  std::fill(slot.begin(), slot.begin() + kSlotBytes, std::byte{0});
  store(slot, 0, kMagic);
  store(slot, 8, kVersion);
  store(slot, 16, mark.log_id);
  store(slot, 32, mark.counter);
  store(slot, 40, mark.durable_lsn.value());
  store(slot, 48, mark.incarnation);
  store(slot, 56, mark.clocks.hold.count());
  store(slot, 64, mark.clocks.wall.count());
  store(slot, 72, mark.clocks.boot.count());
  store(slot, 80, to_ms(mark.clocks.stamp));
  store(slot, 88, mark.clocks.boot_id);
  store(slot, kSlotBytes - 8, XXH3_64bits(slot.data(), kSlotBytes - 8));
}

Result<void> MarkWriter::write(Mark mark) {
  if (!file_) HOLDFAST_TRY(open());
  mark.counter = counter_ + 1;
  std::array<std::byte, kSlotBytes> slot;
  write_mark_slot(slot, mark);
  auto done = file_->write((mark.counter % kSlots) * kBlockBytes, slot);
  if (!done) {
    file_.reset();
    return done.error();
  }
  counter_ = mark.counter;
  return {};
}

Result<void> MarkWriter::open() {
  const auto there = files_.exists(mark_path(directory_));
  if (!there) return there.error();
  if (!*there) HOLDFAST_TRY(create());
  auto file = files_.open(mark_path(directory_), OpenMode::write);
  if (!file) return file.error();
  file_ = std::move(*file);
  return {};
}

Result<void> MarkWriter::create() {
  const std::string path = mark_path(directory_);
  const std::string temporary = temporary_path(path);
  const auto leftover = files_.exists(temporary);
  if (!leftover) return leftover.error();
  if (*leftover) HOLDFAST_TRY(files_.remove(temporary));
  auto file = files_.open(temporary, OpenMode::create);
  if (!file) return file.error();
  const std::array<std::byte, kSlots * kBlockBytes> zeros{};
  HOLDFAST_TRY((*file)->write(0, zeros));
  HOLDFAST_TRY((*file)->sync());
  file->reset();
  HOLDFAST_TRY(files_.rename(temporary, path));
  return files_.sync_directory(directory_);
}

}  // namespace holdfast
