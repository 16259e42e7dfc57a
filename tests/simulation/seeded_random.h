// Randomness that is the same for the same seed, on every machine: the simulator's dice, and the Random of the
// code under test.
#pragma once

#include "storage/clock.h"

#include <cstring>

namespace holdfast::simulation {

/// SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014).
class Dice {
 public:
  explicit Dice(std::uint64_t seed) noexcept : state_(seed) {}

  std::uint64_t next() noexcept {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  /// 0 .. ways-1. REQUIRES: ways >= 1.
  std::uint64_t below(std::uint64_t ways) noexcept { return next() % ways; }
  /// True `numerator` times in `denominator`.
  bool chance(std::uint64_t numerator, std::uint64_t denominator) noexcept { return below(denominator) < numerator; }

  void fill(std::span<std::uint8_t> bytes) noexcept {
    for (std::size_t at = 0; at < bytes.size(); at += sizeof(std::uint64_t)) {
      const std::uint64_t word = next();
      std::memcpy(bytes.data() + at, &word, std::min(sizeof word, bytes.size() - at));
    }
  }

 private:
  std::uint64_t state_;
};

class SeededRandom final : public Random {
 public:
  explicit SeededRandom(std::uint64_t seed) noexcept : dice_(seed) {}
  void fill(std::span<std::uint8_t> bytes) override { dice_.fill(bytes); }

 private:
  Dice dice_;
};

}  // namespace holdfast::simulation
