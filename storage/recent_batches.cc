#include "storage/recent_batches.h"

#include "protocol/check.h"

#include <algorithm>

namespace holdfast {

using segment_format::kBatchHeaderBytes;

void RecentBatches::add(std::span<const std::byte> batch, const BatchHeader& header) {
  const auto kept = batch.first(kBatchHeaderBytes + header.body_bytes);
  auto fresh = std::make_shared<RecentBatch>(RecentBatch{header, {kept.begin(), kept.end()}});
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) return;
  // One that was not kept leaves a gap, and so has everything before it go.
  if (!batches_.empty() && batches_.back()->header.last_lsn().next() != header.first_lsn) {
    batches_.clear();
    bytes_ = 0;
  }
  while (!batches_.empty() && bytes_ + kept.size() > bytes_max_) {
    bytes_ -= batches_.front()->bytes.size();
    batches_.pop_front();
  }
  if (kept.size() > bytes_max_) return;
  bytes_ += kept.size();
  batches_.push_back(std::move(fresh));
}

std::shared_ptr<const RecentBatch> RecentBatches::find(Lsn lsn) const {
  const std::lock_guard lock(mutex_);
  const auto after = std::upper_bound(batches_.begin(), batches_.end(), lsn,
                                      [](Lsn wanted, const auto& batch) { return wanted < batch->header.first_lsn; });
  if (after == batches_.begin()) return nullptr;
  const auto& found = *std::prev(after);
  return lsn <= found->header.last_lsn() ? found : nullptr;
}

std::size_t RecentBatches::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

}  // namespace holdfast
