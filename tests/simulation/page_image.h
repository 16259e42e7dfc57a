// The bytes of one simulated file: pages of 4 KiB, shared between images until one of them writes. A missing
// page reads as zeros, so that zero-filled segments cost nothing and copies of a whole disk cost a pointer a
// page. One thread.
#pragma once

#include "storage/file_system.h"

#include <array>
#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <boost/smart_ptr/intrusive_ref_counter.hpp>
#include <span>
#include <vector>

namespace holdfast::simulation {

inline constexpr std::size_t kSectorBytes = 512;
inline constexpr std::size_t kPageBytes = kBlockBytes;
inline constexpr std::size_t kSectorsPerPage = kPageBytes / kSectorBytes;

struct Page : boost::intrusive_ref_counter<Page, boost::thread_unsafe_counter> {
  std::array<std::byte, kPageBytes> bytes;
};

/// Shared and never changed while shared; null stands for zeros.
using PagePtr = boost::intrusive_ptr<const Page>;

/// Copies `bytes` to `at` of a copy of `page`. Null when all of the result is zero.
/// REQUIRES: at + bytes.size() <= kPageBytes.
PagePtr with_bytes(const PagePtr& page, std::size_t at, std::span<const std::byte> bytes);

/// `target` with the sectors in `mask` (bit n: sector n) taken from `source`.
PagePtr with_sectors(const PagePtr& target, const PagePtr& source, std::uint8_t mask);

/// Bits of the sectors that [begin, end) of a page touches. REQUIRES: begin < end <= kPageBytes.
std::uint8_t sector_mask(std::size_t begin, std::size_t end) noexcept;

/// Calls visit(page index, begin in page, end in page, bytes before it in the range) for each page of the
/// range.
template <class Visit>
void for_each_page(std::uint64_t offset, std::uint64_t length, Visit&& visit) {
  for (std::uint64_t done = 0; done < length;) {
    const std::uint64_t begin = (offset + done) % kPageBytes;
    const std::uint64_t part = std::min<std::uint64_t>(length - done, kPageBytes - begin);
    visit((offset + done) / kPageBytes, static_cast<std::size_t>(begin), static_cast<std::size_t>(begin + part),
          static_cast<std::size_t>(done));
    done += part;
  }
}

class PageImage {
 public:
  std::uint64_t size() const noexcept { return size_; }
  /// What lies beyond the new end is forgotten; what is new reads as zeros.
  void resize(std::uint64_t size);
  /// Fills `into` from `offset`; how many bytes lay before the end.
  std::size_t read(std::uint64_t offset, std::span<std::byte> into) const;
  /// Grows the image where needed.
  void write(std::uint64_t offset, std::span<const std::byte> bytes);

  PagePtr page(std::uint64_t index) const { return index < pages_.size() ? pages_[index] : PagePtr(); }
  /// Does not change the size.
  void set_page(std::uint64_t index, PagePtr page);

 private:
  std::vector<PagePtr> pages_;  // may be shorter than the size; never holds bytes beyond it that are not zero
  std::uint64_t size_ = 0;
};

}  // namespace holdfast::simulation
