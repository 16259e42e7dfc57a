// Short ways to speak to the simulated disk in tests.
#pragma once

#include "tests/simulation/simulated_disk.h"

#include "tests/doctest.h"

namespace holdfast::simulation {

/// Blocks of 4 KiB, aligned for durable writes, all bytes the same.
class Blocks {
 public:
  Blocks(std::size_t count, int value) : bytes_(new (std::align_val_t{kBlockBytes}) std::byte[count * kBlockBytes]) {
    size_ = count * kBlockBytes;
    std::fill_n(bytes_.get(), size_, std::byte(value));
  }
  // NOLINTNEXTLINE(google-explicit-constructor): a test passes it where bytes are wanted
  operator std::span<const std::byte>() const noexcept { return {bytes_.get(), size_}; }

 private:
  struct Free {
    void operator()(std::byte* bytes) const noexcept { ::operator delete[](bytes, std::align_val_t{kBlockBytes}); }
  };
  std::unique_ptr<std::byte[], Free> bytes_;
  std::size_t size_;
};

inline std::unique_ptr<File> must_open(SimulatedDisk& disk, const std::string& path, OpenMode mode) {
  auto file = disk.open(path, mode);
  REQUIRE(file.has_value());
  return std::move(*file);
}

/// A file of this many zero blocks, durable with its name.
inline void prepare(SimulatedDisk& disk, const std::string& path, std::size_t blocks) {
  REQUIRE(disk.make_directory(parent_directory(path)).has_value());
  const auto file = must_open(disk, path, OpenMode::create);
  REQUIRE(file->write(0, Blocks(blocks, 0)).has_value());
  REQUIRE(file->sync().has_value());
  REQUIRE(disk.sync_directory(parent_directory(path)).has_value());
}

/// The byte at the start of each sector.
inline std::vector<int> sectors(const SimulatedDisk& disk, const std::string& path) {
  const auto bytes = disk.contents(path);
  std::vector<int> firsts;
  for (std::size_t at = 0; at < bytes.size(); at += kSectorBytes) firsts.push_back(std::to_integer<int>(bytes[at]));
  return firsts;
}

}  // namespace holdfast::simulation
