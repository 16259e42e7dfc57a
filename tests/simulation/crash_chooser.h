// What becomes of everything that was not durable when the power went. The simulated disk asks a chooser once
// for each undecided thing, in an order that depends only on the calls made before.
#pragma once

#include "tests/simulation/seeded_random.h"

#include <vector>

namespace holdfast::simulation {

/// The options of ChoicePoint::sector, in this order.
enum class SectorFate : std::uint8_t { kept = 0, lost = 1, zeroed = 2, garbled = 3 };
inline constexpr std::uint32_t kSectorFates = 4;

enum class ChoicePoint : std::uint8_t {
  sector,  // kSectorFates options, for each sector of each pending write in order
  size,    // option 0: the durable size; n: the size after the n-th pending growth
  entry,   // option 0: the change of a directory is kept; 1: lost
};

class CrashChooser {
 public:
  virtual ~CrashChooser() = default;
  /// 0 .. options-1. REQUIRES: options >= 1.
  virtual std::uint32_t choose(ChoicePoint point, std::uint32_t options) = 0;
  /// Seeds the bytes of garbled sectors.
  virtual std::uint64_t garbage_seed() { return 0; }
};

/// Everything kept (the machine stopped just after writing all), or everything lost.
class FixedCrash final : public CrashChooser {
 public:
  explicit FixedCrash(SectorFate fate) noexcept : fate_(fate) {}
  std::uint32_t choose(ChoicePoint point, std::uint32_t options) override;

 private:
  SectorFate fate_;
};

/// A mixture of manners, one drawn for each crash: all lost, all kept, a prefix kept, each by itself, with
/// zeroed sectors, with garbled ones (these only if `garble`; bytes the device never held, F-14). Directory
/// changes have a manner of their own.
class RandomCrash final : public CrashChooser {
 public:
  explicit RandomCrash(std::uint64_t seed, bool garble = true) noexcept;
  std::uint32_t choose(ChoicePoint point, std::uint32_t options) override;
  std::uint64_t garbage_seed() override { return dice_.next(); }

 private:
  enum class Manner : std::uint8_t { lost, kept, prefix, each, zeroing, garbling };
  SectorFate sector();
  bool keep_in(Manner manner, bool& prefix_ended);

  Dice dice_;
  Manner sectors_;
  Manner entries_;
  bool sectors_ended_ = false;
  bool entries_ended_ = false;
};

/// Goes through all combinations, like an odometer: crash a copy of the disk with it, check, and again while
/// next(). With `sector_fates` 2 sectors are kept or lost only.
class EveryCrash final : public CrashChooser {
 public:
  explicit EveryCrash(std::uint32_t sector_fates = kSectorFates) noexcept : sector_fates_(sector_fates) {}
  std::uint32_t choose(ChoicePoint point, std::uint32_t options) override;
  /// Steps to the next combination; false when all were seen.
  bool next();
  std::uint64_t combinations_seen() const noexcept { return seen_; }

 private:
  struct Digit {
    std::uint32_t value;
    std::uint32_t options;
  };
  std::vector<Digit> digits_;
  std::size_t at_ = 0;
  std::uint32_t sector_fates_;
  std::uint64_t seen_ = 0;
};

}  // namespace holdfast::simulation
