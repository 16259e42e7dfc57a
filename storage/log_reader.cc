#include "storage/log_reader.h"

#include "protocol/check.h"
#include "storage/log_files.h"
#include "storage/segment_reader.h"

#include <algorithm>

namespace holdfast {

using segment_format::kBatchHeaderBytes;
using segment_format::padded_bytes;

namespace {

/// Places that are kept, and how far apart those are that are only walked over.
constexpr std::size_t kPlacesMax = 1024;
constexpr std::uint64_t kPlaceEveryBytes = 1_MiB;

}  // namespace

Result<LogReader::Batch> LogReader::batch_at(Lsn lsn) {
  held_ = recent_.find(lsn);
  if (held_ != nullptr) return Batch{held_->header, held_->bytes};
  return read_at(lsn);
}

Result<Lsn> LogReader::oldest() {
  if (!segments_.empty()) {
    const auto there = files_.exists(path_of(segments_.front().number));
    if (!there) return there.error();
    if (*there) return segments_.front().first_lsn;
  }
  HOLDFAST_TRY(refresh());
  if (segments_.empty()) return Error::format(ErrorCode::not_found, "{} has no segments", directory_);
  return segments_.front().first_lsn;
}

Result<void> LogReader::refresh() {
  const auto found = look_at_directory(files_, directory_);
  if (!found) return found.error();
  std::erase_if(segments_, [&](const SegmentSpan& segment) {
    return !std::binary_search(found->segments.begin(), found->segments.end(), segment.number);
  });
  const std::uint64_t known = segments_.empty() ? 0 : segments_.back().number;
  for (const std::uint64_t number : found->segments) {
    if (number <= known) continue;
    const auto segment = look_at(number, number == found->segments.back());
    if (!segment) return segment.error();
    if (*segment) segments_.push_back(**segment);
  }
  if (!segments_.empty()) places_.erase(places_.begin(), places_.lower_bound(segments_.front().first_lsn));
  return {};
}

/// Nothing for the last one when it was prepared and is not begun. Its header also says where the one before it ends.
Result<std::optional<SegmentSpan>> LogReader::look_at(std::uint64_t number, bool last) {
  const std::string path = path_of(number);
  auto file = files_.open(path, OpenMode::read_suspicious);
  if (!file) return file.error();
  const auto bytes = (*file)->size();
  if (!bytes) return bytes.error();
  const auto into = block_.reserve(kBlockBytes);
  const auto got = (*file)->read(0, into);
  if (!got) return got.error();
  const auto header = read_segment_header(into.first(*got));
  if (!header && last) return std::optional<SegmentSpan>();
  if (!header) return Error::format(ErrorCode::damaged, "{}: {}", path, header.error().text());
  if (!segments_.empty() && segments_.back().number == header->predecessor.segment) {
    segments_.back().used_bytes = header->predecessor.length_bytes;
  }
  return std::optional<SegmentSpan>(SegmentSpan{number, header->first_lsn, *bytes, 0});
}

/// A segment that was begun, or removed, since the last look is looked for once.
Result<LogReader::Batch> LogReader::read_at(Lsn lsn) {
  for (const bool again : {false, true}) {
    if (again || segments_.empty()) HOLDFAST_TRY(refresh());
    auto batch = find_in_file(lsn);
    if (batch && *batch) return **batch;
    window_.reset();  // it may have been read before the batch was written
    if (!batch && again) return batch.error();
  }
  return Error::format(ErrorCode::damaged, "{}: no batch holds LSN {}", directory_, lsn.value());
}

Result<std::optional<LogReader::Batch>> LogReader::find_in_file(Lsn lsn) {
  const auto after =
      std::upper_bound(segments_.begin(), segments_.end(), lsn,
                       [](Lsn wanted, const SegmentSpan& segment) { return wanted < segment.first_lsn; });
  if (after == segments_.begin()) {
    return Error::format(ErrorCode::not_found, "LSN {} is below the oldest segment", lsn.value());
  }
  const SegmentSpan& segment = *std::prev(after);
  Lsn first = segment.first_lsn;
  Place place{segment.number, kBlockBytes};
  const auto beyond = places_.upper_bound(lsn);
  if (beyond != places_.begin()) {
    const auto& [known, where] = *std::prev(beyond);
    if (where.segment == segment.number) first = known, place = where;
  }
  return walk(lsn, first, place);
}

/// From the batch that begins with `first`; nothing when there is none yet at some place before `lsn`.
Result<std::optional<LogReader::Batch>> LogReader::walk(Lsn lsn, Lsn first, Place place) {
  const auto window = window_of(place.segment);
  if (!window) return window.error();
  for (std::uint64_t kept_at = place.offset;;) {
    auto block = (*window)->view(place.offset, kBlockBytes);
    if (!block) return block.error();
    if (block->size() < kBlockBytes) return std::optional<Batch>();
    const auto header = read_batch_header(*block);
    if (!header) return std::optional<Batch>();
    if (header->log_tag != log_tag_ || header->segment != place.segment || header->first_lsn != first ||
        header->count == 0) {
      return damaged(place, "the batch does not belong there");
    }
    const std::uint64_t bytes = padded_bytes(header->body_bytes);
    if (bytes > kBatchBytesMax) return damaged(place, "the batch is too long");
    if (lsn <= header->last_lsn()) {
      const auto whole = (*window)->view(place.offset, bytes);
      if (!whole) return whole.error();
      if (whole->size() < bytes || !body_is_sound(*header, whole->subspan(kBatchHeaderBytes))) {
        return damaged(place, "the batch's body is damaged");
      }
      keep(first, place);
      keep(header->last_lsn().next(), {place.segment, place.offset + bytes});
      return std::optional<Batch>(Batch{*header, whole->first(kBatchHeaderBytes + header->body_bytes)});
    }
    if (place.offset - kept_at >= kPlaceEveryBytes) {
      keep(first, place);
      kept_at = place.offset;
    }
    first = header->last_lsn().next();
    place.offset += bytes;
  }
}

/// The newest segment is read past the page cache: it is still written, and not through it.
Result<FileWindow*> LogReader::window_of(std::uint64_t segment) {
  if (!window_ || open_segment_ != segment) {
    const bool newest = segment == segments_.back().number;
    auto opened = FileWindow::open(files_, path_of(segment), newest ? OpenMode::read_suspicious : OpenMode::read);
    if (!opened) return opened.error();
    window_ = std::move(*opened);
    open_segment_ = segment;
  }
  return &*window_;
}

void LogReader::keep(Lsn first, Place place) {
  places_[first] = place;
  if (places_.size() > kPlacesMax) places_.erase(places_.begin());
}

Error LogReader::damaged(const Place& place, std::string_view what) const {
  return Error::format(ErrorCode::damaged, "{} at offset {}: {}", path_of(place.segment), place.offset, what);
}

std::string LogReader::path_of(std::uint64_t segment) const { return segment_path(directory_, segment); }

}  // namespace holdfast
