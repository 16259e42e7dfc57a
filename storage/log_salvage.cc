#include "storage/log_salvage.h"

#include "storage/byte_codec.h"
#include "storage/mark_reader.h"
#include "storage/record_reader.h"
#include "storage/snapshot_reader.h"
#include "storage/state_hasher.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

namespace holdfast {
namespace {

using segment_format::kBatchHeaderBytes;
using segment_format::padded_bytes;

constexpr std::uint64_t kProgressEvery = 16_MiB;

/// Takes all records and learns items' names.
class NameReader final : public RecordVisitor {
 public:
  using Names = boost::unordered_flat_map<std::uint64_t, std::string>;
  explicit NameReader(Names& names) noexcept : names_(names) {}

  Result<void> on_item(const RecordStamp& stamp, const ItemRecord& record) override {
    auto& name = names_[stamp.item.value()];
    if (name.empty()) name = record.name;
    return {};
  }
  Result<void> on_reservation(const RecordStamp&, const ReservationRecord&) override { return {}; }
  Result<void> on_forget(const RecordStamp&, const ForgetRecord&) override { return {}; }
  Result<void> on_default_returns(const RecordStamp&, const DefaultReturnsRecord&) override { return {}; }

 private:
  Names& names_;
};

/// Whether a batch with this header can be one that this version wrote.
bool plausible(const BatchHeader& header, std::span<const std::byte> block) noexcept {
  return load<std::uint16_t>(block, 4) == segment_format::kVersion && header.count > 0 && header.epoch > 0 &&
         header.first_lsn > Lsn() && header.last_lsn() >= header.first_lsn &&
         padded_bytes(header.body_bytes) <= kBatchBytesMax;
}

}  // namespace

/// Goes through the blocks of one file after another.
class LogSalvage::Scanner {
 public:
  Scanner(LogSalvage& to, const Progress& progress) : to_(to), names_(to.names_), progress_(progress) {}

  Result<void> scan(std::uint64_t number) {
    auto file = to_.files_->open(segment_path(to_.directory_, number), OpenMode::read);
    if (!file) return file.error();
    const auto size = (*file)->size();
    if (!size) return size.error();
    for (std::uint64_t at = 0; at < *size;) {
      const auto step = look(**file, number, at);
      if (!step) return step.error();
      at += *step;
      tell(*step);
    }
    return {};
  }
  std::vector<Sound> take() { return std::move(sound_); }

 private:
  /// What lies at a block; how many bytes further the next thing may lie.
  Result<std::uint64_t> look(File& file, std::uint64_t number, std::uint64_t at) {
    const auto block = read(file, number, at, kBlockBytes);
    if (!block) return block.error();
    if (block->size() < kBlockBytes) return kBlockBytes;
    if (at == 0) look_at_header(number, *block);
    const auto header = read_batch_header(*block);
    if (!header) return kBlockBytes;
    to_.known_ = std::max(to_.known_, header->last_lsn());
    if (!plausible(*header, *block)) return kBlockBytes;
    const std::uint64_t bytes = padded_bytes(header->body_bytes);
    const auto whole = read(file, number, at, bytes);
    if (!whole) return whole.error();
    if (whole->size() < bytes || !body_is_sound(*header, whole->subspan(kBatchHeaderBytes))) return kBlockBytes;
    const auto body = whole->subspan(kBatchHeaderBytes, header->body_bytes);
    if (!read_records({body, header->first_lsn, header->count, Lsn()}, names_)) return bytes;
    sound_.push_back({{number, at, header->first_lsn, header->count, header->body_bytes, header->epoch,
                       header->previous_sum, header->body_sum},
                      header->log_tag});
    return bytes;
  }

  void look_at_header(std::uint64_t number, std::span<const std::byte> block) {
    const auto header = read_segment_header(block);
    if (!header) return;
    to_.known_ = std::max(to_.known_, header->predecessor.last_lsn);
    to_.header_ids_.push_back(header->log.id);
    to_.starts_[number] = {header->incarnation, header->clocks.boot_id};
  }

  /// Fewer bytes where the file ends before.
  Result<std::span<const std::byte>> read(File& file, std::uint64_t number, std::uint64_t at, std::uint64_t bytes) {
    const auto into = to_.buffer_.reserve(bytes).first(bytes);
    const auto read = file.read(at, into);
    if (read) return std::span<const std::byte>(into.first(*read));
    return Error::format(read.error().code(),
                         "{} at offset {}: {}. Copy the files to a device that can be read, for example with ddrescue",
                         segment_path(to_.directory_, number), at, read.error().text());
  }

  void tell(std::uint64_t bytes) {
    done_ += bytes;
    if (!progress_ || done_ - told_ < kProgressEvery) return;
    told_ = done_;
    progress_(done_);
  }

  LogSalvage& to_;
  NameReader names_;
  const Progress& progress_;
  std::vector<Sound> sound_;
  std::uint64_t done_ = 0;
  std::uint64_t told_ = 0;
};

Result<LogSalvage> LogSalvage::scan(FileSystem& files, const std::string& directory, const Progress& progress) {
  const auto found = look_at_directory(files, directory);
  if (!found) return found.error();
  if (found->segments.empty()) return Error::format(ErrorCode::not_found, "{} holds no log", directory);
  LogSalvage salvage(files, directory);
  if (const auto mark = read_mark(files, mark_path(directory)); mark && *mark) {
    salvage.known_ = (*mark)->durable_lsn;
    salvage.mark_id_ = (*mark)->log_id;
    salvage.clocks_ = (*mark)->clocks;
  }
  Scanner scanner(salvage, progress);
  for (const std::uint64_t number : found->segments) HOLDFAST_TRY(scanner.scan(number));
  auto sound = scanner.take();
  salvage.choose_log(sound);
  salvage.divide(salvage.find_bases(found->snapshots), std::move(sound));
  return salvage;
}

void LogSalvage::choose_log(const std::vector<Sound>& sound) {
  std::map<LogId, std::size_t> votes;
  for (const LogId& id : header_ids_) ++votes[id];
  if (votes.empty() && mark_id_) votes[*mark_id_] = 1;
  if (votes.empty() && !sound.empty()) {  // the part of the id that batches tell
    std::memcpy(id_.data(), &sound.front().log_tag, sizeof(std::uint64_t));
  }
  std::size_t most = 0;
  for (const auto& [id, count] : votes) {
    if (count > most || (count == most && id == mark_id_)) {
      most = count;
      id_ = id;
    }
  }
  tag_ = log_tag(id_);
  if (mark_id_ != id_) clocks_.reset();
}

/// The empty state, and the states of this log's snapshots that are sound.
std::vector<LogSalvage::Base> LogSalvage::find_bases(const std::vector<Lsn>& snapshots) const {
  std::vector<Base> bases(1);
  for (const Lsn lsn : snapshots) {
    Base base{lsn, snapshot_path(directory_, lsn), 1};
    auto reader = SnapshotReader::open(*files_, base.path);
    if (!reader || reader->header().log.id != id_ || reader->header().lsn != lsn) continue;
    base.epoch = reader->header().incarnation;
    StateHasher hasher;
    SnapshotItems items(hasher);
    if (!reader->verify() || !reader->read(items) || hasher.state() != reader->header().state) continue;
    bases.push_back(std::move(base));
  }
  return bases;
}

/// From the first batch behind a state on, each to the one that says that it follows it.
std::vector<BatchPlace> LogSalvage::follow(const Base& base, const std::vector<Sound>& sound) const {
  std::vector<BatchPlace> chain;
  Lsn next = base.lsn.next();
  std::uint64_t sum = 0;
  std::uint64_t epoch = base.epoch;
  for (const Sound& batch : sound) {
    const BatchPlace& place = batch.place;
    // What the first one behind a snapshot follows is not known, but for its LSN.
    const bool follows = place.previous_sum == sum || (chain.empty() && base.lsn > Lsn());
    if (place.first_lsn != next || !follows || place.epoch < epoch) continue;
    chain.push_back(place);
    next = place.last_lsn().next();
    sum = place.body_sum;
    epoch = place.epoch;
  }
  return chain;
}

/// What leads furthest is kept, from as early on as may be.
void LogSalvage::divide(const std::vector<Base>& bases, std::vector<Sound> sound) {
  std::erase_if(sound, [this](const Sound& batch) { return batch.log_tag != tag_; });
  std::sort(sound.begin(), sound.end(), [](const Sound& a, const Sound& b) {
    return std::tuple(a.place.first_lsn, a.place.file, a.place.offset) <
           std::tuple(b.place.first_lsn, b.place.file, b.place.offset);
  });
  for (const Base& base : bases) {
    auto chain = follow(base, sound);
    const Lsn end = chain.empty() ? base.lsn : chain.back().last_lsn();
    if (end <= kept_through()) continue;
    base_ = base;
    kept_ = std::move(chain);
  }
  known_ = std::max(known_, kept_through());
  for (const Sound& batch : sound) {
    const BatchPlace& place = batch.place;
    const bool again =
        !lost_.empty() && lost_.back().first_lsn == place.first_lsn && lost_.back().body_sum == place.body_sum;
    if (place.last_lsn() > kept_through() && !again) lost_.push_back(place);
  }
}

std::vector<LsnRange> LogSalvage::unreadable() const {
  std::vector<LsnRange> ranges;
  Lsn next = kept_through().next();
  for (const BatchPlace& place : lost_) {
    if (place.first_lsn > next) ranges.emplace_back(next, Lsn(place.first_lsn.value() - 1));
    next = std::max(next, place.last_lsn().next());
  }
  if (known_ >= next) ranges.emplace_back(next, known_);
  return ranges;
}

std::string_view LogSalvage::item_name(ItemNumber number) const {
  const auto found = names_.find(number.value());
  return found == names_.end() ? std::string_view() : std::string_view(found->second);
}

Result<BatchHeader> LogSalvage::read(const BatchPlace& place, std::span<const std::byte>& body) {
  const std::string path = segment_path(directory_, place.file);
  if (open_ == nullptr || open_number_ != place.file) {
    auto file = files_->open(path, OpenMode::read);
    if (!file) return file.error();
    open_ = std::move(*file);
    open_number_ = place.file;
  }
  const std::uint64_t bytes = padded_bytes(place.body_bytes);
  const auto whole = buffer_.reserve(bytes).first(bytes);
  const auto read = open_->read(place.offset, whole);
  if (!read) return read.error();
  const auto header = *read == bytes ? read_batch_header(whole) : std::nullopt;
  if (!header || header->body_sum != place.body_sum || !body_is_sound(*header, whole.subspan(kBatchHeaderBytes))) {
    return Error::format(ErrorCode::damaged, "{} at offset {}: it is not what it was a moment ago", path, place.offset);
  }
  BatchHeader found = *header;
  const auto start = starts_.find(place.file);
  if (start != starts_.end() && start->second.incarnation == found.epoch) {
    found.clocks.boot_id = start->second.boot_id;
  }
  body = whole.subspan(kBatchHeaderBytes, place.body_bytes);
  return found;
}

}  // namespace holdfast
