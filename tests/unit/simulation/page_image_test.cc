#include "tests/simulation/page_image.h"

#include "tests/doctest.h"

using namespace holdfast;
using namespace holdfast::simulation;

namespace {

std::vector<std::byte> filled(std::size_t size, int value) { return std::vector<std::byte>(size, std::byte(value)); }

std::vector<std::byte> all_of(const PageImage& image) {
  std::vector<std::byte> bytes(image.size());
  image.read(0, bytes);
  return bytes;
}

}  // namespace

TEST_CASE("page_image: what was written is read, holes read as zeros, the end is the end") {
  PageImage image;
  image.write(5000, filled(100, 7));
  CHECK(image.size() == 5100);
  std::vector<std::byte> into(6000, std::byte(1));
  CHECK(image.read(4990, into) == 110);
  CHECK(into[9] == std::byte(0));
  CHECK(into[10] == std::byte(7));
  CHECK(image.read(5100, into) == 0);
}

TEST_CASE("page_image: a copy does not see later writes") {
  PageImage image;
  image.write(0, filled(10000, 1));
  const PageImage copy = image;
  image.write(100, filled(8000, 2));
  CHECK(all_of(copy) == filled(10000, 1));
  CHECK(all_of(image)[4200] == std::byte(2));
}

TEST_CASE("page_image: zeros take no page") {
  PageImage image;
  image.write(0, filled(65536, 0));
  CHECK(image.size() == 65536);
  for (std::uint64_t page = 0; page < 16; ++page) CHECK_FALSE(image.page(page));
}

TEST_CASE("page_image: what was cut off does not come back when the image grows again") {
  PageImage image;
  image.write(0, filled(9000, 3));
  image.resize(4100);
  image.resize(9000);
  auto want = filled(9000, 0);
  std::fill_n(want.begin(), 4100, std::byte(3));
  CHECK(all_of(image) == want);
}

TEST_CASE("page_image: sectors are taken one by one") {
  PageImage image;
  image.write(0, filled(4096, 5));
  const PagePtr mixed = with_sectors(nullptr, image.page(0), 0b10000001);
  CHECK(mixed->bytes[511] == std::byte(5));
  CHECK(mixed->bytes[512] == std::byte(0));
  CHECK(mixed->bytes[3584] == std::byte(5));
  CHECK(sector_mask(0, 1) == 0b00000001);
  CHECK(sector_mask(511, 513) == 0b00000011);
  CHECK(sector_mask(0, 4096) == 0b11111111);
  CHECK(sector_mask(3584, 4096) == 0b10000000);
}
