// One file of the simulated disk: the bytes that are durable, the bytes the page cache shows, the writes in
// between, and the damage the medium has done, kept apart so that the truth is always known. One thread.
#pragma once

#include "tests/simulation/crash_chooser.h"
#include "tests/simulation/page_image.h"

#include <map>
#include <optional>

namespace holdfast::simulation {

/// What the page cache shows after a failed flush (Rebello et al., Can Applications Recover from fsync
/// Failures?, ATC 2020). In all three the pages count as clean, so that the failure is reported once.
enum class FlushFailure : std::uint8_t {
  keeps_new,       // the new bytes, which are not on the disk (ext4, XFS)
  reverts_to_old,  // what is on the disk (Btrfs)
  mixed,           // page by page, one or the other
};

class SimulatedInode {
 public:
  std::uint64_t size() const noexcept;
  /// Through the page cache.
  std::size_t read(std::uint64_t offset, std::span<std::byte> into) const;
  /// From the medium, except for pages that wait to be written.
  std::size_t read_past_cache(std::uint64_t offset, std::span<std::byte> into) const;
  void write(std::uint64_t offset, std::span<const std::byte> bytes);
  /// A sync covered the range, or all of the file.
  void make_durable(std::uint64_t offset, std::uint64_t length);
  void make_durable();
  /// A flush of everything pending failed: some of it is on the disk by chance, nothing is pending any more.
  void fail_flush(FlushFailure behaviour, Dice& dice);
  /// The power went: the durable bytes take what the chooser keeps; the cache is gone.
  void crash(CrashChooser& chooser);

  std::size_t pending_sectors() const noexcept;
  /// How many bytes the file takes on the disk.
  std::uint64_t allocated() const noexcept;

  // Damage. The next write over a damaged place heals it.
  void flip_bit(std::uint64_t offset, unsigned bit);
  void overwrite_behind(std::uint64_t offset, std::span<const std::byte> bytes);
  void truncate_behind(std::uint64_t size);
  /// The last write to this range never reached the medium, though all the calls succeeded: `before` is what
  /// was there.
  void lose_write(const PageImage& before, std::uint64_t offset, std::uint64_t length);
  void heal() noexcept;
  bool damaged() const noexcept { return !damaged_pages_.empty() || damaged_size_.has_value(); }
  /// What a healthy medium would show.
  const PageImage& pristine() const noexcept { return cached_; }

 private:
  struct PendingPage {
    std::uint64_t index;
    std::uint8_t sectors;  // bit n: sector n of the page was written
    PagePtr content;       // the whole page after that write
  };

  PageImage with_damage(PageImage image) const;
  void damage_page(std::uint64_t index, std::size_t at, std::span<const std::byte> bytes);
  void settle_sectors(const PendingPage& page, CrashChooser& chooser);

  PageImage durable_;
  PageImage cached_;
  std::vector<PendingPage> pending_;          // oldest first
  std::vector<std::uint64_t> pending_sizes_;  // each larger than the one before and than the durable size
  std::map<std::uint64_t, PagePtr> damaged_pages_;
  std::optional<std::uint64_t> damaged_size_;
};

}  // namespace holdfast::simulation
