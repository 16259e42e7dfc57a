// A set of hashes that may say yes where it should say no, never the other way: a blocked Bloom filter. A key's bits lie
// in one cache line, so that a look-up costs one miss. One thread adds, any thread asks.
// F. Putze, P. Sanders, J. Singler, "Cache-, hash- and space-efficient Bloom filters", WEA 2007.
//
// Nothing is taken out, and a word is only ever stored with more bits than before; no read-modify-write.
#pragma once

#include "server/view_atomic.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace holdfast {

class ViewFilter {
 public:
  /// Keys for each cache line of 512 bits: 10.7 bits a key, of which about one stranger in a hundred is taken for a key.
  static constexpr std::uint64_t kKeysPerBlock = 48;

  /// Serves so many keys well, and any number safely.
  explicit ViewFilter(std::uint64_t keys)
      : block_count_(keys / kKeysPerBlock + 1), blocks_(std::make_unique<Block[]>(block_count_)) {}

  /// The owner's thread. False when the key was there, or was taken for one.
  bool add(std::uint64_t hash) noexcept {
    Block& block = blocks_[block_of(hash)];
    bool is_new = false;
    std::uint64_t bits = bits_of(hash);
    for (int i = 0; i < kBitsPerKey; ++i, bits <<= kBitIndexBits) {
      auto& word = block[word_of(bits)];
      const std::uint64_t value = word.load(std::memory_order_relaxed);
      if ((value & mask_of(bits)) != 0) continue;
      word.store(value | mask_of(bits), std::memory_order_release);
      is_new = true;
    }
    return is_new;
  }

  /// Any thread. True for every key whose `add` happened before.
  bool may_contain(std::uint64_t hash) const noexcept {
    const Block& block = blocks_[block_of(hash)];
    std::uint64_t bits = bits_of(hash);
    for (int i = 0; i < kBitsPerKey; ++i, bits <<= kBitIndexBits) {
      if ((block[word_of(bits)].load(std::memory_order_acquire) & mask_of(bits)) == 0) return false;
    }
    return true;
  }

  std::uint64_t capacity() const noexcept { return block_count_ * kKeysPerBlock; }
  std::size_t bytes() const noexcept { return sizeof(*this) + block_count_ * sizeof(Block); }

 private:
  static constexpr int kBitsPerKey = 6;
  static constexpr int kBitIndexBits = 9;  // of 512
  struct alignas(64) Block : std::array<ViewAtomic<std::uint64_t>, 8> {};

  /// The upper half of the hash chooses the block, all of it the bits: nine at a time from the top of a product.
  std::uint64_t block_of(std::uint64_t hash) const noexcept { return (hash >> 32) * block_count_ >> 32; }
  static std::uint64_t bits_of(std::uint64_t hash) noexcept { return hash * 0x9e3779b97f4a7c15U; }
  static std::size_t word_of(std::uint64_t bits) noexcept { return bits >> 61; }
  static std::uint64_t mask_of(std::uint64_t bits) noexcept { return std::uint64_t{1} << (bits >> 55 & 63); }

  std::uint64_t block_count_;  // below 2^32
  std::unique_ptr<Block[]> blocks_;
};

}  // namespace holdfast
