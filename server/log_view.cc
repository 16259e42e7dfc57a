#include "server/log_view.h"

#include <algorithm>

namespace holdfast {
namespace {

/// What one call of count() reads at most, a batch more or less.
constexpr std::uint64_t kCountBytesMax = 8_MiB;

}  // namespace

Result<void> LogView::copy(Lsn from, Lsn durable, std::size_t bytes_max, std::string& out) {
  const std::size_t begin = out.size();
  for (Lsn next = from; next <= durable;) {
    const auto batch = reader_.batch_at(next);
    if (!batch) return batch.error();
    const std::uint64_t bytes = segment_format::padded_bytes(batch->header.body_bytes);
    const bool first = out.size() == begin;
    if (batch->header.last_lsn() > durable || (!first && out.size() - begin + bytes > bytes_max)) break;
    out.append(reinterpret_cast<const char*>(batch->bytes.data()), batch->bytes.size());
    out.append(bytes - batch->bytes.size(), '\0');
    next = batch->header.last_lsn().next();
  }
  return {};
}

Result<LogEntries> LogView::entries(LogEntries::Range range, RespVersion version) {
  const auto oldest = reader_.oldest();
  if (!oldest) return oldest.error();
  range.from = std::max(range.from, *oldest);
  HOLDFAST_TRY(learn(range.through));
  LogEntries found(items_, version, range);
  for (Lsn next = range.from; next <= range.through && !found.full();) {
    const auto batch = reader_.batch_at(next);
    if (!batch) return batch.error();
    const BatchHeader& header = batch->header;
    const BatchBody body{batch->records(), header.first_lsn, header.count, Lsn(next.value() - 1)};
    if (const auto read = read_records(body, found, &found); !read) return read.error();
    next = header.last_lsn().next();
  }
  return found;
}

Result<Lsn> LogView::last_entry(Lsn durable) {
  const auto oldest = reader_.oldest();
  if (!oldest) return oldest.error();
  for (Lsn last = durable; last >= *oldest;) {
    const auto batch = reader_.batch_at(last);
    if (!batch) return batch.error();
    const RecordCount count = count_records(batch->records());
    if (count.clocks < count.records) return Lsn(batch->header.last_lsn().value() - count.after_last);
    last = Lsn(batch->header.first_lsn.value() - 1);
  }
  return Lsn();
}

Result<std::optional<std::uint64_t>> LogView::count(Lsn durable) {
  HOLDFAST_TRY(reader_.refresh());
  const auto& segments = reader_.segments();
  if (!segments.empty()) counted_.erase(counted_.begin(), counted_.lower_bound(segments.front().number));
  std::uint64_t entries = 0, bytes = 0;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const SegmentSpan segment = segments[i];
    const Lsn before(segment.first_lsn.value() - 1);
    const bool last = i + 1 == segments.size();
    const Lsn end = last ? durable : std::min(durable, Lsn(segments[i + 1].first_lsn.value() - 1));
    Counted& counted = counted_.try_emplace(segment.number, Counted{before, 0}).first->second;
    while (counted.through < end) {
      if (bytes >= kCountBytesMax) return std::optional<std::uint64_t>();
      const auto batch = reader_.batch_at(counted.through.next());
      if (!batch) return batch.error();
      const RecordCount count = count_records(batch->records());
      counted = {batch->header.last_lsn(), counted.entries + count.records - count.clocks};
      bytes += batch->bytes.size();
    }
    entries += counted.entries;
  }
  return std::optional<std::uint64_t>(entries);
}

LogView::Lag LogView::lag(Lsn after, Lsn durable, std::uint64_t live_bytes) const {
  Lag lag;
  lag.records = durable.value() - std::min(durable, after).value();
  const auto& segments = reader_.segments();
  for (std::size_t i = 0; i < segments.size() && lag.records > 0; ++i) {
    const SegmentSpan& segment = segments[i];
    const bool last = i + 1 == segments.size();
    const std::uint64_t end = last ? durable.value() + 1 : segments[i + 1].first_lsn.value();
    if (end <= after.value() + 1) continue;
    lag.file_bytes += segment.file_bytes;
    const std::uint64_t used = last ? live_bytes : segment.used_bytes;
    const std::uint64_t first = segment.first_lsn.value(), from = std::max(first, after.value() + 1);
    const double share = static_cast<double>(end - from) / static_cast<double>(std::max<std::uint64_t>(end - first, 1));
    lag.bytes += static_cast<std::uint64_t>(static_cast<double>(used) * share);
  }
  return lag;
}

Result<void> LogView::learn(Lsn durable) {
  if (learned_ >= durable) return {};
  const auto oldest = reader_.oldest();
  if (!oldest) return oldest.error();
  learned_ = std::max(learned_, Lsn(oldest->value() - 1));
  while (learned_ < durable) {
    const auto batch = reader_.batch_at(learned_.next());
    if (!batch) return batch.error();
    const BatchHeader& header = batch->header;
    HOLDFAST_TRY(items_.learn({batch->records(), header.first_lsn, header.count, learned_}));
    learned_ = header.last_lsn();
  }
  items_.forget_before(*oldest);
  return {};
}

}  // namespace holdfast
