#include "storage/log_fork.h"

#include "protocol/check.h"
#include "storage/aligned_buffer.h"
#include "storage/log_files.h"
#include "storage/mark_writer.h"
#include "storage/record_reader.h"
#include "storage/segment_writer.h"
#include "storage/snapshot_reader.h"
#include "storage/snapshot_writer.h"

#include <fmt/format.h>

#include <algorithm>

namespace holdfast {
namespace {

using segment_format::kBatchHeaderBytes;
using segment_format::padded_bytes;

constexpr std::string_view kNewSuffix = ".new";

std::string new_path(const std::string& path) { return path + std::string(kNewSuffix); }

/// A new file, durable but for its name; a leftover of that name is replaced.
Result<std::unique_ptr<File>> make_file(FileSystem& files, const std::string& path) {
  const auto leftover = files.exists(path);
  if (!leftover) return leftover.error();
  if (*leftover) HOLDFAST_TRY(files.remove(path));
  return files.open(path, OpenMode::create);
}

/// Paths of the files that did not take their place yet, the one that is to be last at the end: a mark and a snapshot mean
/// nothing without segments, and the segment with the lowest number makes a log of them.
Result<std::vector<std::string>> new_files(FileSystem& files, const std::string& directory) {
  auto names = files.list(directory);
  if (!names) return names.error();
  std::erase_if(*names, [](const std::string& name) { return !name.ends_with(kNewSuffix); });
  std::sort(names->begin(), names->end(), std::greater<>());
  std::stable_partition(names->begin(), names->end(), [](const std::string& name) { return name.starts_with("mark"); });
  for (std::string& name : *names) name = fmt::format("{}/{}", directory, name);
  return names;
}

}  // namespace

Result<void> LogFork::begin_with(const std::string& snapshot) {
  CHECK(headers_.empty() && summary_.last == Lsn());
  auto reader = SnapshotReader::open(files_, snapshot);
  if (!reader) return reader.error();
  HOLDFAST_TRY(reader->verify());
  const SnapshotHeader& header = reader->header();
  if (settings_.through < header.lsn || settings_.until < header.clocks.stamp) {
    return Error::format(
        ErrorCode::not_found,
        "{} is the oldest state that is kept: after LSN {}, at {} ms; nothing leads to what was before", snapshot,
        header.lsn.value(), to_ms(header.clocks.stamp));
  }
  SnapshotItems items(hasher_);
  const auto read = reader->read(items);
  if (!read) return read.error();
  if (hasher_.state() != header.state) {
    return Error::format(ErrorCode::damaged, "{}: its items make another state than it says", snapshot);
  }
  snapshot_ = snapshot;
  epoch_ = header.incarnation;
  clocks_ = header.clocks;
  end_.last_lsn = header.lsn;
  summary_.snapshot = summary_.last = header.lsn;
  summary_.last_wall = header.clocks.stamp;
  summary_.state = header.state;
  return {};
}

Result<bool> LogFork::add(const BatchHeader& header, std::span<const std::byte> body) {
  CHECK(!summary_.cut);
  if (header.first_lsn != summary_.last.next() || header.count == 0 || header.epoch < epoch_) {
    return Error::format(ErrorCode::damaged, "a batch of LSN {}, start {} follows LSN {}, start {}",
                         header.first_lsn.value(), header.epoch, summary_.last.value(), epoch_);
  }
  const auto kept = leading_steps({body, header.first_lsn, header.count, Lsn()}, settings_.through, settings_.until);
  summary_.cut = kept.count < header.count;
  if (kept.count == 0) return false;
  const auto read = read_records({body.first(kept.bytes), header.first_lsn, kept.count, Lsn()}, hasher_);
  if (!read) return read.error();
  BatchHeader written = header;
  written.count = kept.count;
  written.body_bytes = static_cast<std::uint32_t>(kept.bytes);
  written.state = hasher_.state();
  if (!summary_.cut && written.state != header.state) {
    if (!settings_.restate) {
      return Error::format(ErrorCode::damaged, "the records up to LSN {} make another state than their batch says",
                           header.last_lsn().value());
    }
    ++summary_.restated;
  }
  HOLDFAST_TRY(append(written, body.first(kept.bytes)));
  summary_.last = written.last_lsn();
  summary_.last_wall = std::max(summary_.last_wall, read->wall_max);
  summary_.records += kept.count;
  summary_.state = written.state;
  return !summary_.cut && summary_.last < settings_.through;
}

Result<void> LogFork::append(BatchHeader header, std::span<const std::byte> body) {
  const std::uint64_t bytes = padded_bytes(header.body_bytes);
  const bool same_start = file_ != nullptr && headers_.back().incarnation == header.epoch;
  if (!same_start || end_.length_bytes + bytes > settings_.segment_bytes) HOLDFAST_TRY(begin_segment(header));
  header.log_tag = log_tag(settings_.identity.id);
  header.segment = end_.segment;
  header.previous_sum = end_.sum;
  batch_.assign(bytes, std::byte{0});
  std::copy(body.begin(), body.end(), batch_.begin() + kBatchHeaderBytes);
  seal_batch(batch_, header);
  HOLDFAST_TRY(file_->write(end_.length_bytes, batch_));
  end_ = {end_.segment, header.last_lsn(), end_.length_bytes + bytes, header.body_sum};
  clocks_ = header.clocks;
  return {};
}

/// Its header comes when all is known: the length, and where the fork ends.
Result<void> LogFork::begin_segment(const BatchHeader& header) {
  if (file_ != nullptr) HOLDFAST_TRY(end_segment());
  SegmentHeader next;
  next.log = settings_.identity;
  next.predecessor = end_;
  next.number = end_.segment + 1;
  next.first_lsn = header.first_lsn;
  next.incarnation = epoch_ = header.epoch;
  next.clocks = header.clocks;
  next.state = summary_.state;
  auto file = make_file(files_, new_path(segment_path(settings_.directory, next.number)));
  if (!file) return file.error();
  file_ = std::move(*file);
  headers_.push_back(next);
  end_ = {next.number, next.predecessor.last_lsn, kBlockBytes, next.predecessor.sum};
  return {};
}

Result<void> LogFork::end_segment() {
  SegmentHeader& header = headers_.back();
  header.segment_bytes = std::max<std::uint64_t>(end_.length_bytes, 2 * kBlockBytes);
  if (end_.length_bytes == kBlockBytes) {
    const std::array<std::byte, kBlockBytes> zeros{};
    HOLDFAST_TRY(file_->write(kBlockBytes, zeros));
  }
  auto done = file_->sync();
  file_.reset();
  return done;
}

Result<void> LogFork::write_out() {
  if (headers_.empty()) {
    BatchHeader first;
    first.first_lsn = summary_.last.next();
    first.epoch = epoch_;
    if (settings_.clocks) clocks_ = *settings_.clocks;
    first.clocks = clocks_;
    HOLDFAST_TRY(begin_segment(first));
  }
  HOLDFAST_TRY(end_segment());
  if (settings_.forks) settings_.identity.forked_from_lsn = summary_.last;
  for (const SegmentHeader& header : headers_) HOLDFAST_TRY(write_header(header));
  HOLDFAST_TRY(write_mark());
  if (!snapshot_.empty()) HOLDFAST_TRY(write_snapshot());
  return files_.sync_directory(settings_.directory);
}

Result<void> LogFork::write_header(const SegmentHeader& header) {
  SegmentHeader complete = header;
  complete.log = settings_.identity;
  AlignedBuffer buffer;
  const auto block = buffer.reserve(kBlockBytes);
  write_segment_header(block.first<kBlockBytes>(), complete);
  auto file = files_.open(new_path(segment_path(settings_.directory, header.number)), OpenMode::write);
  if (!file) return file.error();
  HOLDFAST_TRY((*file)->write(0, block));
  return (*file)->sync();
}

Result<void> LogFork::write_mark() {
  Mark mark;
  mark.log_id = settings_.identity.id;
  mark.counter = 1;
  mark.durable_lsn = summary_.last;
  mark.incarnation = headers_.back().incarnation;
  mark.clocks = settings_.clocks && settings_.clocks->hold > clocks_.hold ? *settings_.clocks : clocks_;
  std::array<std::byte, mark_format::kSlots * kBlockBytes> bytes{};
  write_mark_slot(std::span(bytes).subspan(mark.counter % mark_format::kSlots * kBlockBytes), mark);
  auto file = make_file(files_, new_path(mark_path(settings_.directory)));
  if (!file) return file.error();
  HOLDFAST_TRY((*file)->write(0, bytes));
  return (*file)->sync();
}

Result<void> LogFork::write_snapshot() {
  auto reader = SnapshotReader::open(files_, snapshot_);
  if (!reader) return reader.error();
  SnapshotHeader header = reader->header();
  header.log = settings_.identity;
  auto writer = SnapshotWriter::begin(files_, settings_.directory, header, kNewSuffix);
  if (!writer) return writer.error();
  const auto written = reader->read(**writer);
  if (!written) return written.error();
  return (*writer)->publish();
}

Result<void> LogFork::take_place(FileSystem& files, const std::string& directory) {
  const auto paths = new_files(files, directory);
  if (!paths) return paths.error();
  for (std::size_t index = 0; index < paths->size(); ++index) {
    const std::string& path = (*paths)[index];
    // Names become durable in any order: all others first.
    if (index + 1 == paths->size()) HOLDFAST_TRY(files.sync_directory(directory));
    HOLDFAST_TRY(files.rename(path, path.substr(0, path.size() - kNewSuffix.size())));
  }
  return files.sync_directory(directory);
}

Result<void> LogFork::discard(FileSystem& files, const std::string& directory) {
  const auto paths = new_files(files, directory);
  if (!paths) return paths.error();
  for (const std::string& path : *paths) HOLDFAST_TRY(files.remove(path));
  return {};
}

}  // namespace holdfast
