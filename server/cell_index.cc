#include "server/cell_index.h"

namespace holdfast {

CellIndex::CellIndex(CellPool& pool) : pool_(pool) { segments_.push_back(std::make_unique<Bucket[]>(kSegmentBuckets)); }

CellIndex::~CellIndex() {
  release_some(bucket_count(), [](std::uint32_t) {});
}

void CellIndex::erase(std::uint64_t hash, std::uint32_t value) {
  Bucket& bucket = bucket_at(bucket_of(hash));
  remove(bucket, position(bucket, hash, value));
  --size_;
}

void CellIndex::replace(std::uint64_t hash, std::uint32_t from, std::uint32_t to) {
  Bucket& bucket = bucket_at(bucket_of(hash));
  put(bucket, position(bucket, hash, from), tag_of(hash), to);
}

void CellIndex::append(Bucket& bucket, std::uint8_t tag, std::uint32_t value) {
  if (bucket.count == capacity(bucket)) resize(bucket, bucket.units + 1U);
  put(bucket, bucket.count++, tag, value);
}

void CellIndex::put(Bucket& bucket, std::uint32_t i, std::uint8_t tag, std::uint32_t value) noexcept {
  std::byte* cells = pool_.at(bucket.cells);
  cells[i] = std::byte{tag};
  std::memcpy(cells + capacity(bucket) + std::size_t{i} * sizeof(value), &value, sizeof(value));
}

void CellIndex::remove(Bucket& bucket, std::uint32_t i) {
  const std::uint32_t last = --bucket.count;
  const auto tag = std::to_integer<std::uint8_t>(pool_.at(bucket.cells)[last]);
  if (i != last) put(bucket, i, tag, value_at(bucket, last));
  // One unit of slack, so that taking turns at the boundary does not move the cells each time.
  const std::uint32_t needed = (bucket.count + kCellsPerUnit - 1) / kCellsPerUnit;
  if (needed + 1U < bucket.units) resize(bucket, needed + 1U);
}

void CellIndex::resize(Bucket& bucket, std::uint32_t units) {
  CHECK(units <= CellPool::kUnitsMax);
  const Bucket old = bucket;
  bucket.units = static_cast<std::uint16_t>(units);
  if (units == 0) bucket.count = 0;
  if (units > 0) pool_.allocate(units, bucket.cells);
  if (bucket.count > 0) {
    const std::byte* from = pool_.at(old.cells);
    std::byte* to = pool_.at(bucket.cells);
    std::memcpy(to, from, bucket.count);
    std::memcpy(to + capacity(bucket), from + capacity(old), std::size_t{bucket.count} * sizeof(std::uint32_t));
  }
  if (old.units > 0) pool_.release(old.cells, old.units);
}

std::uint32_t CellIndex::position(const Bucket& bucket, std::uint64_t hash, std::uint32_t value) const {
  std::uint32_t i = next_match(bucket, hash, 0);
  while (i < bucket.count && value_at(bucket, i) != value) i = next_match(bucket, hash, i + 1);
  CHECK(i < bucket.count);
  return i;
}

void CellIndex::add_bucket() {
  const std::size_t target = bucket_count();
  if (target % kSegmentBuckets == 0) segments_.push_back(std::make_unique<Bucket[]>(kSegmentBuckets));
  if (++split_ == std::size_t{1} << level_) {
    split_ = 0;
    ++level_;
  }
}

}  // namespace holdfast
