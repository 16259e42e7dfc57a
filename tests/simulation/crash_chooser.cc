#include "tests/simulation/crash_chooser.h"

#include "protocol/check.h"

namespace holdfast::simulation {

std::uint32_t FixedCrash::choose(ChoicePoint point, std::uint32_t options) {
  const bool kept = fate_ == SectorFate::kept;
  switch (point) {
    case ChoicePoint::sector:
      return static_cast<std::uint32_t>(fate_);
    case ChoicePoint::size:
      return fate_ == SectorFate::lost ? 0 : options - 1;
    case ChoicePoint::entry:
      return kept ? 0 : 1;
  }
  CHECK(false);
}

RandomCrash::RandomCrash(std::uint64_t seed, bool garble) noexcept : dice_(seed) {
  sectors_ = static_cast<Manner>(dice_.below(garble ? 6 : 5));
  entries_ = static_cast<Manner>(dice_.below(4));
}

std::uint32_t RandomCrash::choose(ChoicePoint point, std::uint32_t options) {
  switch (point) {
    case ChoicePoint::sector:
      return static_cast<std::uint32_t>(sector());
    case ChoicePoint::size:
      return static_cast<std::uint32_t>(dice_.below(options));
    case ChoicePoint::entry:
      return keep_in(entries_, entries_ended_) ? 0 : 1;
  }
  CHECK(false);
}

SectorFate RandomCrash::sector() {
  const std::uint64_t roll = dice_.below(8);
  if (sectors_ == Manner::zeroing && roll < 2) return SectorFate::zeroed;
  if (sectors_ == Manner::garbling && roll < 2) return SectorFate::garbled;
  return keep_in(sectors_, sectors_ended_) ? SectorFate::kept : SectorFate::lost;
}

bool RandomCrash::keep_in(Manner manner, bool& prefix_ended) {
  switch (manner) {
    case Manner::lost:
      return false;
    case Manner::kept:
      return true;
    case Manner::prefix:
      prefix_ended = prefix_ended || dice_.chance(1, 8);
      return !prefix_ended;
    case Manner::each:
    case Manner::zeroing:
    case Manner::garbling:
      return dice_.chance(1, 2);
  }
  CHECK(false);
}

std::uint32_t EveryCrash::choose(ChoicePoint point, std::uint32_t options) {
  if (point == ChoicePoint::sector) options = sector_fates_;
  CHECK(options >= 1);
  if (at_ == digits_.size()) digits_.push_back({0, options});
  CHECK(digits_[at_].options == options);  // the same disk must ask the same questions
  return digits_[at_++].value;
}

bool EveryCrash::next() {
  ++seen_;
  digits_.resize(at_);
  at_ = 0;
  while (!digits_.empty()) {
    if (++digits_.back().value < digits_.back().options) return true;
    digits_.pop_back();
  }
  return false;
}

}  // namespace holdfast::simulation
