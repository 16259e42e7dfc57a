#include "storage/snapshot_writer.h"

#include "protocol/check.h"
#include "storage/log_files.h"
#include "storage/snapshot_format.h"

#include <xxhash.h>

#include <array>

namespace holdfast {

using namespace snapshot_format;

/// An entry under construction on the stack.
class SnapshotWriter::Draft {
 public:
  explicit Draft(Entry type) noexcept {
    out = ByteWriter(bytes_.data());
    out.fixed(type);
  }
  Draft(const Draft&) = delete;
  Draft& operator=(const Draft&) = delete;

  std::span<const std::byte> bytes() const noexcept { return std::span(bytes_).first(out.size()); }

  ByteWriter out{nullptr};

 private:
  std::array<std::byte, kEntryBytesMax> bytes_;
};

SnapshotWriter::SnapshotWriter(FileSystem& files, std::string directory, const SnapshotHeader& header,
                               std::string_view suffix)
    : files_(files),
      directory_(std::move(directory)),
      header_(header),
      path_(snapshot_path(directory_, header.lsn).append(suffix)),
      chunk_(kChunkHeaderBytes) {}

Result<std::unique_ptr<SnapshotWriter>> SnapshotWriter::begin(FileSystem& files, const std::string& directory,
                                                              const SnapshotHeader& header, std::string_view suffix) {
  std::unique_ptr<SnapshotWriter> writer(new SnapshotWriter(files, directory, header, suffix));
  HOLDFAST_TRY(writer->open());
  return writer;
}

Result<void> SnapshotWriter::open() {
  const std::string temporary = temporary_path(path_);
  const auto leftover = files_.exists(temporary);
  if (!leftover) return leftover.error();
  if (*leftover) HOLDFAST_TRY(files_.remove(temporary));
  auto file = files_.open(temporary, OpenMode::create);
  if (!file) return file.error();
  file_ = std::move(*file);
  std::array<std::byte, kBlockBytes> block;
  write_snapshot_header(block, header_);
  sum_ = load<std::uint64_t>(block, kBlockBytes - 8);
  written_ = kBlockBytes;
  return file_->write(0, block);
}

void SnapshotWriter::append(const Draft& draft) {
  const auto bytes = draft.bytes();
  chunk_.insert(chunk_.end(), bytes.begin(), bytes.end());
}

Result<void> SnapshotWriter::put(const Draft& draft) {
  append(draft);
  return chunk_.size() < kChunkBytesTarget ? Result<void>() : close_chunk(kChunkMagic);
}

Result<void> SnapshotWriter::close_chunk(std::uint32_t magic) {
  const auto payload = std::span(chunk_).subspan(kChunkHeaderBytes);
  CHECK(payload.size() <= kChunkBytesMax);
  sum_ = XXH3_64bits_withSeed(payload.data(), payload.size(), sum_);
  store(chunk_, 0, magic);
  store(chunk_, 4, static_cast<std::uint32_t>(payload.size()));
  store(chunk_, 8, sum_);
  HOLDFAST_TRY(file_->write(written_, chunk_));
  written_ += chunk_.size();
  chunk_.resize(kChunkHeaderBytes);
  return {};
}

Result<void> SnapshotWriter::on_log(const SnapshotLog& log) {
  Draft draft(Entry::log);
  draft.out.fixed(log.returns_held ? kReturnsHeld : std::uint8_t{0});
  draft.out.number(log.item_number_max.value());
  return put(draft);
}

Result<void> SnapshotWriter::on_name(const SnapshotName& name) {
  CHECK(!name.name.empty() && name.name.size() <= kItemNameBytesMax);
  Draft draft(Entry::name);
  draft.out.number(name.version.value());
  draft.out.text(name.name);
  ++totals_.names;
  return put(draft);
}

Result<void> SnapshotWriter::on_version(const SnapshotVersion& version) {
  Draft draft(Entry::version);
  draft.out.fixed(version.definition.scope == LimitScope::sale ? kScopeSale : std::uint8_t{0});
  draft.out.number(version.item.value());
  draft.out.number(version.version.value());
  draft.out.number(version.last.value());
  draft.out.text(version.name);
  put_definition(draft.out, version.definition);
  return put(draft);
}

Result<void> SnapshotWriter::on_item(const SnapshotItem& item) {
  const auto flags = (item.returns_held ? kReturnsHeld : 0U) | (item.fenced ? kFenced : 0U) |
                     (item.definition.scope == LimitScope::sale ? kScopeSale : 0U) |
                     (item.loaded.scope == LimitScope::sale ? kLoadedScopeSale : 0U);
  Draft draft(Entry::item);
  draft.out.fixed(static_cast<std::uint8_t>(flags));
  draft.out.fixed(item.state);
  draft.out.number(item.number.value());
  draft.out.number(item.version.value());
  draft.out.number(item.sequence.value());
  draft.out.integer(to_ms(item.base));
  draft.out.number(item.slots);
  put_counters(draft.out, item.counters);
  draft.out.integer(item.total);
  draft.out.text(item.name);
  put_definition(draft.out, item.definition);
  put_definition(draft.out, item.loaded);
  ++totals_.items;
  item_ = item.number;
  next_slot_ = 0;
  item_rows_ = 0;
  return put(draft);
}

Result<void> SnapshotWriter::on_row(const SnapshotRow& row) {
  CHECK(row.slot >= next_slot_ && row.quantity > 0);
  const auto flags = static_cast<unsigned>(row.state) | (row.exclusive ? kExclusive : 0U) |
                     static_cast<unsigned>(row.user.kind()) << kUserKindShift |
                     (row.is_newest_expired ? kNewestExpired : 0U) | (row.is_newest_of_sale ? kNewestOfSale : 0U);
  Draft draft(Entry::row);
  draft.out.number(row.slot - next_slot_);
  const std::size_t after_slot = draft.out.size();
  draft.out.fixed(static_cast<std::uint8_t>(flags));
  put_id(draft.out, row.id);
  put_user(draft.out, row.user);
  draft.out.number(static_cast<std::uint64_t>(row.quantity));
  draft.out.integer(to_ms(row.created));
  draft.out.fixed(row.time ? std::uint8_t{1} : std::uint8_t{0});
  if (row.time) draft.out.integer((*row.time - row.created).count());
  draft.out.number(row.sequence.value());
  draft.out.number(row.lsn.value());
  totals_.rows_hash += hash_snapshot_row(item_, draft.bytes().subspan(after_slot));
  ++totals_.rows;
  ++item_rows_;
  next_slot_ = row.slot + 1;
  return put(draft);
}

Result<void> SnapshotWriter::on_order(std::span<const std::uint32_t> slots) {
  CHECK(slots.size() <= kOrderSlotsMax);
  Draft draft(Entry::order);
  draft.out.number(slots.size());
  for (const std::uint32_t slot : slots) draft.out.number(slot);
  return put(draft);
}

Result<void> SnapshotWriter::on_adjust(const ReservationId& id, std::int64_t delta) {
  Draft draft(Entry::adjust);
  put_id(draft.out, id);
  draft.out.integer(delta);
  return put(draft);
}

Result<void> SnapshotWriter::on_item_end() {
  Draft draft(Entry::item_end);
  draft.out.number(item_rows_);
  return put(draft);
}

Result<void> SnapshotWriter::publish() {
  Draft draft(Entry::end);
  draft.out.number(totals_.names);
  draft.out.number(totals_.items);
  draft.out.number(totals_.rows);
  draft.out.fixed(totals_.rows_hash.low);
  draft.out.fixed(totals_.rows_hash.high);
  append(draft);
  HOLDFAST_TRY(close_chunk(kLastChunkMagic));
  HOLDFAST_TRY(file_->sync());
  file_.reset();
  HOLDFAST_TRY(files_.rename(temporary_path(path_), path_));
  return files_.sync_directory(directory_);
}

void write_snapshot_header(std::span<std::byte, kBlockBytes> block, const SnapshotHeader& header) {
  CHECK(header.lsn > Lsn() && header.incarnation >= 1);
  std::fill(block.begin(), block.end(), std::byte{0});
  store(block, 0, kMagic);
  store(block, 8, kVersion);
  store(block, 10, kVersion);  // the oldest reader that understands it
  store(block, 16, header.log.id);
  store(block, 32, header.lsn.value());
  store(block, 40, header.incarnation);
  store(block, 64, header.clocks.boot_id);
  store(block, 80, header.clocks.hold.count());
  store(block, 88, header.clocks.wall.count());
  store(block, 96, header.clocks.boot.count());
  store(block, 104, to_ms(header.clocks.stamp));
  store(block, 144, header.state.low);
  store(block, 152, header.state.high);
  store(block, 160, header.log.forked_from_id);
  store(block, 176, header.log.forked_from_lsn.value());
  store(block, kBlockBytes - 8, XXH3_64bits(block.data(), kBlockBytes - 8));  // the secret is still zeros
  store(block, kSecretOffset, header.log.secret);
}

StateHash hash_snapshot_row(ItemNumber item, std::span<const std::byte> encoded) noexcept {
  const XXH128_hash_t hash = XXH3_128bits_withSeed(encoded.data(), encoded.size(), item.value());
  return {hash.low64, hash.high64};
}

}  // namespace holdfast
