#include "tests/simulation/simulated_inode.h"

#include "protocol/check.h"

#include <bit>

namespace holdfast::simulation {
namespace {

std::array<std::byte, kSectorBytes> garbage(std::uint64_t seed) {
  std::array<std::uint8_t, kSectorBytes> noise;
  Dice(seed).fill(noise);
  return std::bit_cast<std::array<std::byte, kSectorBytes>>(noise);
}

constexpr std::array<std::byte, kSectorBytes> kZeroSector{};

}  // namespace

std::uint64_t SimulatedInode::size() const noexcept { return damaged_size_.value_or(cached_.size()); }

std::size_t SimulatedInode::read(std::uint64_t offset, std::span<std::byte> into) const {
  return damaged() ? with_damage(cached_).read(offset, into) : cached_.read(offset, into);
}

std::size_t SimulatedInode::read_past_cache(std::uint64_t offset, std::span<std::byte> into) const {
  PageImage image = durable_;
  image.resize(cached_.size());
  for (const PendingPage& page : pending_) image.set_page(page.index, cached_.page(page.index));
  return with_damage(std::move(image)).read(offset, into);
}

void SimulatedInode::write(std::uint64_t offset, std::span<const std::byte> bytes) {
  if (bytes.empty()) return;
  for_each_page(offset, bytes.size(), [&](std::uint64_t index, std::size_t begin, std::size_t end, std::size_t done) {
    const auto part = bytes.subspan(done, end - begin);
    PagePtr content = with_bytes(cached_.page(index), begin, part);
    cached_.set_page(index, content);
    pending_.push_back({index, sector_mask(begin, end), std::move(content)});
    if (const auto found = damaged_pages_.find(index); found != damaged_pages_.end()) {
      if (part.size() == kPageBytes)
        damaged_pages_.erase(found);
      else
        damage_page(index, begin, part);
    }
  });
  const std::uint64_t end = offset + bytes.size();
  if (damaged_size_ && *damaged_size_ < end) damaged_size_ = end;
  if (end <= cached_.size()) return;
  cached_.resize(end);
  pending_sizes_.push_back(end);
}

void SimulatedInode::make_durable(std::uint64_t offset, std::uint64_t length) {
  for_each_page(offset, length, [&](std::uint64_t index, std::size_t begin, std::size_t end, std::size_t) {
    const std::uint8_t mask = sector_mask(begin, end);
    durable_.set_page(index, with_sectors(durable_.page(index), cached_.page(index), mask));
    for (PendingPage& page : pending_) {
      if (page.index == index) page.sectors = static_cast<std::uint8_t>(page.sectors & ~mask);
    }
  });
  std::erase_if(pending_, [](const PendingPage& page) { return page.sectors == 0; });
  const std::uint64_t end = std::min(offset + length, cached_.size());
  if (end > durable_.size()) durable_.resize(end);
  std::erase_if(pending_sizes_, [&](std::uint64_t size) { return size <= durable_.size(); });
}

void SimulatedInode::make_durable() {
  for (const PendingPage& page : pending_) durable_.set_page(page.index, cached_.page(page.index));
  durable_.resize(cached_.size());
  pending_.clear();
  pending_sizes_.clear();
}

void SimulatedInode::fail_flush(FlushFailure behaviour, Dice& dice) {
  for (const PendingPage& page : pending_) {
    const auto reached = static_cast<std::uint8_t>(dice.chance(1, 4) ? dice.next() & page.sectors : 0u);
    durable_.set_page(page.index, with_sectors(durable_.page(page.index), page.content, reached));
  }
  for (const PendingPage& page : pending_) {
    const bool revert =
        behaviour == FlushFailure::reverts_to_old || (behaviour == FlushFailure::mixed && dice.chance(1, 2));
    if (revert) cached_.set_page(page.index, durable_.page(page.index));
  }
  durable_.resize(cached_.size());  // journalled with the metadata: the size is ahead of the data
  pending_.clear();
  pending_sizes_.clear();
}

void SimulatedInode::crash(CrashChooser& chooser) {
  std::uint64_t size = durable_.size();
  if (!pending_sizes_.empty()) {
    const std::uint32_t chosen =
        chooser.choose(ChoicePoint::size, static_cast<std::uint32_t>(pending_sizes_.size() + 1));
    if (chosen > 0) size = pending_sizes_[chosen - 1];
  }
  for (const PendingPage& page : pending_) settle_sectors(page, chooser);
  durable_.resize(std::max(size, cached_.size()));  // so that pages beyond the chosen size are forgotten below
  durable_.resize(size);
  cached_ = durable_;
  pending_.clear();
  pending_sizes_.clear();
}

std::size_t SimulatedInode::pending_sectors() const noexcept {
  std::size_t count = 0;
  for (const PendingPage& page : pending_) count += static_cast<std::size_t>(std::popcount(page.sectors));
  return count;
}

std::uint64_t SimulatedInode::allocated() const noexcept {
  return (cached_.size() + kPageBytes - 1) / kPageBytes * kPageBytes;
}

void SimulatedInode::flip_bit(std::uint64_t offset, unsigned bit) {
  std::byte value{};
  CHECK(bit < 8 && read(offset, {&value, 1}) == 1);
  value ^= std::byte{1} << bit;
  overwrite_behind(offset, {&value, 1});
}

void SimulatedInode::overwrite_behind(std::uint64_t offset, std::span<const std::byte> bytes) {
  for_each_page(offset, bytes.size(), [&](std::uint64_t index, std::size_t begin, std::size_t end, std::size_t done) {
    damage_page(index, begin, bytes.subspan(done, end - begin));
  });
}

void SimulatedInode::truncate_behind(std::uint64_t size) {
  CHECK(size <= cached_.size());
  damaged_size_ = size;
}

void SimulatedInode::lose_write(const PageImage& before, std::uint64_t offset, std::uint64_t length) {
  for_each_page(offset, length, [&](std::uint64_t index, std::size_t begin, std::size_t end, std::size_t) {
    const PagePtr shown = cached_.page(index);
    damaged_pages_[index] = with_sectors(shown, before.page(index), sector_mask(begin, end));
  });
}

void SimulatedInode::heal() noexcept {
  damaged_pages_.clear();
  damaged_size_.reset();
}

PageImage SimulatedInode::with_damage(PageImage image) const {
  for (const auto& [index, page] : damaged_pages_) {
    if (index * kPageBytes < image.size()) image.set_page(index, page);
  }
  if (damaged_size_) image.resize(*damaged_size_);
  return image;
}

void SimulatedInode::damage_page(std::uint64_t index, std::size_t at, std::span<const std::byte> bytes) {
  const auto found = damaged_pages_.find(index);
  damaged_pages_[index] = with_bytes(found == damaged_pages_.end() ? cached_.page(index) : found->second, at, bytes);
}

void SimulatedInode::settle_sectors(const PendingPage& page, CrashChooser& chooser) {
  PagePtr settled = durable_.page(page.index);
  std::uint8_t kept = 0;
  for (std::size_t sector = 0; sector < kSectorsPerPage; ++sector) {
    if ((page.sectors >> sector & 1) == 0) continue;
    switch (static_cast<SectorFate>(chooser.choose(ChoicePoint::sector, kSectorFates))) {
      case SectorFate::kept:
        kept = static_cast<std::uint8_t>(kept | 1u << sector);
        break;
      case SectorFate::lost:
        break;
      case SectorFate::zeroed:
        settled = with_bytes(settled, sector * kSectorBytes, kZeroSector);
        break;
      case SectorFate::garbled:
        settled = with_bytes(settled, sector * kSectorBytes, garbage(chooser.garbage_seed()));
        break;
    }
  }
  durable_.set_page(page.index, with_sectors(settled, page.content, kept));
}

}  // namespace holdfast::simulation
