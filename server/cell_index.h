// A hash index of 5-byte cells: an 8-bit tag of the hash and a 32-bit value that leads to the key.
//
// Linear hashing: buckets of about 32 cells, split one at a time in a fixed order, so that growing never stops the
// world; the directory grows by segments of 64 buckets. A bucket's cells lie together, all tags first:
//
//   | tag 0 .. tag capacity-1 | value 0 .. value capacity-1 |      capacity = 4 x units of the pool
//
// Keys are not stored: look-ups ask the caller whether a value is the one, splits ask for a value's hash.
// W. Litwin, "Linear Hashing: a new tool for file and table addressing", VLDB 1980. One thread at a time.
#pragma once

#include "protocol/check.h"
#include "server/ask_memory.h"
#include "server/cell_pool.h"

#include <cstring>
#include <memory>
#include <optional>
#include <vector>

namespace holdfast {

class CellIndex {
 public:
  static constexpr std::uint32_t kCellBytes = 5;
  static constexpr std::uint32_t kCellsPerUnit = CellPool::kUnitBytes / kCellBytes;

  struct NoPrefetch {
    void operator()(std::uint32_t) const noexcept {}
  };

  /// `pool` outlives this.
  explicit CellIndex(CellPool& pool);
  ~CellIndex();
  CellIndex(const CellIndex&) = delete;
  CellIndex& operator=(const CellIndex&) = delete;

  std::size_t size() const noexcept { return size_; }

  /// The value with this hash for which `equal(value)` is true.
  template <class Equal>
  std::optional<std::uint32_t> find(std::uint64_t hash, Equal equal) const {
    const Bucket& bucket = bucket_at(bucket_of(hash));
    for (std::uint32_t i = next_match(bucket, hash, 0); i < bucket.count; i = next_match(bucket, hash, i + 1)) {
      const std::uint32_t value = value_at(bucket, i);
      if (equal(value)) return value;
    }
    return std::nullopt;
  }

  /// Ask the memory for what looking for this hash, or adding it, will touch: first for the bucket, and when that is likely
  /// to be here for its cells.
  void ask_bucket(std::uint64_t hash) const noexcept { ask_memory(&bucket_at(bucket_of(hash))); }
  void ask_cells(std::uint64_t hash) const noexcept {
    const Bucket& bucket = bucket_at(bucket_of(hash));
    if (bucket.units == 0) return;
    const std::byte* const tags = pool_.at(bucket.cells);
    ask_memory(tags);
    ask_memory(tags + bucket.count);
    ask_memory(tags + capacity(bucket) + std::size_t{bucket.count} * sizeof(std::uint32_t));
  }

  /// Adds a value that is not there yet. `hash_of(value)` gives the hash of any value in the index, this one included;
  /// `prefetch(value)` asks for the memory that it will look at.
  template <class HashOf, class Prefetch = NoPrefetch>
  void insert(std::uint64_t hash, std::uint32_t value, HashOf hash_of, Prefetch prefetch = {}) {
    append(bucket_at(bucket_of(hash)), tag_of(hash), value);
    if (++size_ > kCellsPerBucket * bucket_count()) split(hash_of, prefetch);
  }

  /// REQUIRES: the value is there with this hash.
  void erase(std::uint64_t hash, std::uint32_t value);
  /// Changes a value whose key stays. REQUIRES: `from` is there with this hash.
  void replace(std::uint64_t hash, std::uint32_t from, std::uint32_t to);
  /// Empties up to `buckets` buckets and calls `on_value` for what was in them, for taking a large index down step by
  /// step; true when nothing is left. Between the first call and the last nothing else may be called.
  template <class OnValue>
  bool release_some(std::size_t buckets, OnValue on_value) {
    for (; buckets > 0 && released_ < bucket_count(); --buckets, ++released_) {
      Bucket& bucket = bucket_at(released_);
      for (std::uint32_t i = 0; i < bucket.count; ++i) on_value(value_at(bucket, i));
      resize(bucket, 0);
    }
    return released_ == bucket_count();
  }
  /// Memory of the directory; the cells are counted by the pool.
  std::size_t directory_bytes() const noexcept { return segments_.size() * kSegmentBuckets * sizeof(Bucket); }

 private:
  struct Bucket {
    CellPool::Handle cells = 0;
    std::uint16_t count = 0;
    std::uint16_t units = 0;
  };
  static constexpr std::size_t kSegmentBuckets = 64;
  static constexpr std::size_t kCellsPerBucket = 32;

  static std::uint8_t tag_of(std::uint64_t hash) noexcept { return static_cast<std::uint8_t>(hash >> 56); }
  std::size_t bucket_count() const noexcept { return (std::size_t{1} << level_) + split_; }
  std::size_t bucket_of(std::uint64_t hash) const noexcept {
    const std::size_t low = hash & ((std::size_t{1} << level_) - 1);
    return low < split_ ? hash & ((std::size_t{2} << level_) - 1) : low;
  }
  Bucket& bucket_at(std::size_t i) noexcept { return segments_[i / kSegmentBuckets][i % kSegmentBuckets]; }
  const Bucket& bucket_at(std::size_t i) const noexcept { return segments_[i / kSegmentBuckets][i % kSegmentBuckets]; }

  /// Position of the first cell from `from` on with the tag of this hash; bucket.count when there is none.
  std::uint32_t next_match(const Bucket& bucket, std::uint64_t hash, std::uint32_t from) const noexcept {
    if (from >= bucket.count) return bucket.count;
    const std::byte* tags = pool_.at(bucket.cells);
    const void* found = std::memchr(tags + from, tag_of(hash), bucket.count - from);
    return found == nullptr ? bucket.count : static_cast<std::uint32_t>(static_cast<const std::byte*>(found) - tags);
  }
  std::uint32_t value_at(const Bucket& bucket, std::uint32_t i) const noexcept {
    std::uint32_t value;
    std::memcpy(&value, pool_.at(bucket.cells) + capacity(bucket) + std::size_t{i} * sizeof(value), sizeof(value));
    return value;
  }
  static std::uint32_t capacity(const Bucket& bucket) noexcept { return bucket.units * kCellsPerUnit; }

  void append(Bucket& bucket, std::uint8_t tag, std::uint32_t value);
  void put(Bucket& bucket, std::uint32_t i, std::uint8_t tag, std::uint32_t value) noexcept;
  void remove(Bucket& bucket, std::uint32_t i);
  void resize(Bucket& bucket, std::uint32_t units);
  std::uint32_t position(const Bucket& bucket, std::uint64_t hash, std::uint32_t value) const;
  void add_bucket();

  template <class HashOf, class Prefetch>
  void split(HashOf hash_of, Prefetch prefetch) {
    const std::size_t source = split_;
    add_bucket();
    const std::size_t target = bucket_count() - 1;
    Bucket& from = bucket_at(source);
    // Keys lie far apart: without this, a split would wait for one cache miss after the other.
    for (std::uint32_t i = 0; i < from.count; ++i) prefetch(value_at(from, i));
    for (std::uint32_t i = 0; i < from.count;) {
      const std::uint32_t value = value_at(from, i);
      const std::uint64_t hash = hash_of(value);
      if (bucket_of(hash) == source) {
        ++i;
        continue;
      }
      append(bucket_at(target), tag_of(hash), value);
      remove(from, i);
    }
  }

  CellPool& pool_;
  std::vector<std::unique_ptr<Bucket[]>> segments_;
  std::size_t size_ = 0;
  std::size_t split_ = 0;     // buckets below this one are already split in this round
  std::uint32_t level_ = 0;   // the round: it began with 2^level buckets
  std::size_t released_ = 0;  // by release_some
};

}  // namespace holdfast
