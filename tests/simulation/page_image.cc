#include "tests/simulation/page_image.h"

#include "protocol/check.h"

#include <cstring>

namespace holdfast::simulation {
namespace {

constexpr std::array<std::byte, kPageBytes> kZeros{};

bool all_zero(std::span<const std::byte> bytes) noexcept {
  return std::memcmp(bytes.data(), kZeros.data(), bytes.size()) == 0;
}

boost::intrusive_ptr<Page> copy_of(const PagePtr& page) {
  boost::intrusive_ptr<Page> copy(new Page);
  std::memcpy(copy->bytes.data(), page ? page->bytes.data() : kZeros.data(), kPageBytes);
  return copy;
}

}  // namespace

PagePtr with_bytes(const PagePtr& page, std::size_t at, std::span<const std::byte> bytes) {
  CHECK(at + bytes.size() <= kPageBytes);
  const bool whole = bytes.size() == kPageBytes;
  if ((whole || !page) && all_zero(bytes)) return nullptr;
  if (!whole) {
    auto copy = copy_of(page);
    std::memcpy(copy->bytes.data() + at, bytes.data(), bytes.size());
    return copy;
  }
  boost::intrusive_ptr<Page> fresh(new Page);
  std::memcpy(fresh->bytes.data(), bytes.data(), kPageBytes);
  return fresh;
}

PagePtr with_sectors(const PagePtr& target, const PagePtr& source, std::uint8_t mask) {
  if (mask == 0 || target == source) return target;
  if (mask == 0xff) return source;
  auto copy = copy_of(target);
  const std::byte* from = source ? source->bytes.data() : kZeros.data();
  for (std::size_t sector = 0; sector < kSectorsPerPage; ++sector) {
    if ((mask >> sector & 1) == 0) continue;
    std::memcpy(copy->bytes.data() + sector * kSectorBytes, from + sector * kSectorBytes, kSectorBytes);
  }
  return copy;
}

std::uint8_t sector_mask(std::size_t begin, std::size_t end) noexcept {
  const std::size_t first = begin / kSectorBytes;
  const std::size_t last = (end - 1) / kSectorBytes;
  return static_cast<std::uint8_t>((0xffu << first) & (0xffu >> (kSectorsPerPage - 1 - last)));
}

void PageImage::resize(std::uint64_t size) {
  if (size < size_) {
    const std::uint64_t pages = (size + kPageBytes - 1) / kPageBytes;
    if (pages < pages_.size()) pages_.resize(pages);
    const std::size_t used = size % kPageBytes;
    if (used != 0 && page(size / kPageBytes)) {
      pages_[size / kPageBytes] = with_bytes(pages_[size / kPageBytes], used, std::span(kZeros).subspan(used));
    }
  }
  size_ = size;
}

std::size_t PageImage::read(std::uint64_t offset, std::span<std::byte> into) const {
  if (offset >= size_) return 0;
  const std::uint64_t length = std::min<std::uint64_t>(into.size(), size_ - offset);
  for_each_page(offset, length, [&](std::uint64_t index, std::size_t begin, std::size_t end, std::size_t done) {
    const Page* source = index < pages_.size() ? pages_[index].get() : nullptr;
    std::memcpy(into.data() + done, (source ? source->bytes.data() : kZeros.data()) + begin, end - begin);
  });
  return static_cast<std::size_t>(length);
}

void PageImage::write(std::uint64_t offset, std::span<const std::byte> bytes) {
  for_each_page(offset, bytes.size(), [&](std::uint64_t index, std::size_t begin, std::size_t end, std::size_t done) {
    set_page(index, with_bytes(page(index), begin, bytes.subspan(done, end - begin)));
  });
  size_ = std::max(size_, offset + bytes.size());
}

void PageImage::set_page(std::uint64_t index, PagePtr page) {
  if (index >= pages_.size()) {
    if (!page) return;
    pages_.resize(index + 1);
  }
  pages_[index] = std::move(page);
}

}  // namespace holdfast::simulation
