#include "storage/mark_reader.h"

#include "storage/byte_codec.h"
#include "storage/file_window.h"

#include <xxhash.h>

namespace holdfast {

using namespace mark_format;
using std::chrono::nanoseconds;

std::optional<Mark> read_mark_slot(std::span<const std::byte> slot) {
  if (slot.size() < kSlotBytes || load<std::uint64_t>(slot, 0) != kMagic) return std::nullopt;
  if (load<std::uint64_t>(slot, kSlotBytes - 8) != XXH3_64bits(slot.data(), kSlotBytes - 8)) return std::nullopt;
  if (load<std::uint16_t>(slot, 8) != kVersion) return std::nullopt;
  Mark mark;
  mark.log_id = load<LogId>(slot, 16);
  mark.counter = load<std::uint64_t>(slot, 32);
  mark.durable_lsn = Lsn(load<std::uint64_t>(slot, 40));
  mark.incarnation = load<std::uint64_t>(slot, 48);
  mark.clocks.hold = nanoseconds(load<std::int64_t>(slot, 56));
  mark.clocks.wall = nanoseconds(load<std::int64_t>(slot, 64));
  mark.clocks.boot = nanoseconds(load<std::int64_t>(slot, 72));
  mark.clocks.stamp = wall_time(load<std::int64_t>(slot, 80));
  mark.clocks.boot_id = load<BootId>(slot, 88);
  return mark;
}

std::optional<Mark> newest_mark(std::span<const std::byte> file) {
  std::optional<Mark> newest;
  for (std::size_t index = 0; index < kSlots && index * kBlockBytes < file.size(); ++index) {
    const auto mark = read_mark_slot(file.subspan(index * kBlockBytes));
    if (mark && (!newest || mark->counter > newest->counter)) newest = mark;
  }
  return newest;
}

Result<std::optional<Mark>> read_mark(FileSystem& files, const std::string& path) {
  const auto there = files.exists(path);
  if (!there) return there.error();
  if (!*there) return std::optional<Mark>();
  auto window = FileWindow::open(files, path, OpenMode::read);
  if (!window) return window.error();
  const auto bytes = window->view(0, kSlots * kBlockBytes);
  if (!bytes) return bytes.error();
  return newest_mark(*bytes);
}

}  // namespace holdfast
