// How long the machine takes to make 4 KiB durable, in the three ways a log could: the measure beside which the
// log's own flush latency is read.
//
//   flush_probe [--folder DIR] [--count N]
//
// Run it on the file system that will hold the log, with nothing else writing to it.
#include "protocol/check.h"
#include "storage/posix_file.h"
#include "storage/posix_file_system.h"

#include <fmt/format.h>

#include <unistd.h>
#include <algorithm>
#include <charconv>
#include <chrono>
#include <new>

using namespace holdfast;

namespace {

constexpr std::uint64_t kPreparedBytes = 64_MiB;
constexpr std::size_t kFillBytes = 1_MiB;
constexpr std::size_t kWarmUp = 100;

struct Options {
  std::string folder = ".";
  std::size_t count = 3000;
};

template <class T>
T must(Result<T> result) {
  if (!result) {
    fmt::print(stderr, "flush_probe: {}\n", result.error().text());
    std::exit(1);
  }
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

struct AlignedBytes {
  explicit AlignedBytes(std::size_t size, int value = 0)
      : bytes(static_cast<std::byte*>(::operator new (size, std::align_val_t{kBlockBytes})), size) {
    std::fill(bytes.begin(), bytes.end(), std::byte(value));
  }
  ~AlignedBytes() { ::operator delete (bytes.data(), std::align_val_t{kBlockBytes}); }
  AlignedBytes(const AlignedBytes&) = delete;
  AlignedBytes& operator=(const AlignedBytes&) = delete;
  std::span<std::byte> bytes;
};

/// A file in the folder, removed at the end; with real zeros in it if it is to be written over.
class ProbeFile {
 public:
  ProbeFile(const Options& options, bool prepared, OpenMode mode)
      : path_(fmt::format("{}/flush_probe.{}", options.folder, ::getpid())) {
    const auto made = must(files_.open(path_, OpenMode::create));
    const AlignedBytes zeros(kFillBytes);
    for (std::uint64_t at = 0; prepared && at < kPreparedBytes; at += kFillBytes) must(made->write(at, zeros.bytes));
    must(made->sync());
    must(files_.sync_directory(options.folder));
    file_ = must(files_.open(path_, mode));
  }
  ~ProbeFile() { must(files_.remove(path_)); }
  ProbeFile(const ProbeFile&) = delete;
  ProbeFile& operator=(const ProbeFile&) = delete;
  File& file() noexcept { return *file_; }

 private:
  PosixFileSystem files_;
  std::string path_;
  std::unique_ptr<File> file_;
};

/// Microseconds each, sorted. `write_one(offset)` makes one block durable.
template <class WriteOne>
std::vector<double> measure(std::size_t count, WriteOne&& write_one) {
  std::vector<double> times;
  for (std::size_t n = 0; n < count + kWarmUp; ++n) {
    const auto begin = std::chrono::steady_clock::now();
    write_one(n * kBlockBytes % kPreparedBytes);
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
    if (n >= kWarmUp) times.push_back(took.count());
  }
  std::sort(times.begin(), times.end());
  return times;
}

void print(std::string_view way, const std::vector<double>& times) {
  const auto at = [&](double part) {
    return times[static_cast<std::size_t>(static_cast<double>(times.size() - 1) * part)];
  };
  fmt::print("{:<40} p50 {:>8.1f}  p90 {:>8.1f}  p99 {:>8.1f}  max {:>9.1f} us\n", way, at(0.5), at(0.9), at(0.99),
             at(1));
}

Options parse(int count, char** words) {
  Options options;
  for (int at = 1; at + 1 < count; at += 2) {
    const std::string_view word = words[at];
    const std::string_view value = words[at + 1];
    if (word == "--folder") options.folder = value;
    if (word == "--count") std::from_chars(value.data(), value.data() + value.size(), options.count);
  }
  CHECK(options.count > 0);
  return options;
}

}  // namespace

int main(int count, char** words) {
  const Options options = parse(count, words);
  const AlignedBytes block(kBlockBytes, 7);
  {
    ProbeFile probe(options, true, OpenMode::for_durable_writes);
    const bool direct = static_cast<PosixFile&>(probe.file()).direct();
    const auto times =
        measure(options.count, [&](std::uint64_t at) { must(probe.file().write_durable(at, block.bytes)); });
    print(direct ? "O_DIRECT|O_DSYNC, zero-filled file" : "O_DIRECT refused; buffered, zero-filled", times);
  }
  for (const bool prepared : {true, false}) {
    ProbeFile probe(options, prepared, OpenMode::write);
    const auto times = measure(options.count, [&](std::uint64_t at) {
      must(probe.file().write(at, block.bytes));
      must(probe.file().sync());
    });
    print(prepared ? "buffered + fdatasync, zero-filled file" : "buffered + fdatasync, growing file", times);
  }
}
