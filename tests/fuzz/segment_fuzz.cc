// Any bytes as a segment's file, a mark, a snapshot and the file of the sinks: the readers come back, with what stands there
// or a refusal.
#include "storage/mark_reader.h"
#include "storage/record_reader.h"
#include "storage/recovery_tail.h"
#include "storage/segment_writer.h"
#include "storage/sinks_reader.h"
#include "storage/snapshot_entries.h"
#include "storage/snapshot_reader.h"

#include <array>
#include <cstdlib>
#include <cstring>

namespace {

using namespace holdfast;

class BytesFile final : public File {
 public:
  explicit BytesFile(std::span<const std::byte> bytes) : bytes_(bytes) {}
  Result<std::size_t> read(std::uint64_t offset, std::span<std::byte> into) override {
    if (offset >= bytes_.size()) return std::size_t{0};
    const std::size_t size = std::min<std::size_t>(into.size(), bytes_.size() - offset);
    std::memcpy(into.data(), bytes_.data() + offset, size);
    return size;
  }
  Result<void> write(std::uint64_t, std::span<const std::byte>) override { std::abort(); }
  Result<void> write_durable(std::uint64_t, std::span<const std::byte>) override { std::abort(); }
  Result<void> sync() override { std::abort(); }
  Result<std::uint64_t> size() override { return bytes_.size(); }
  Result<FileIdentity> identity() override { std::abort(); }

 private:
  std::span<const std::byte> bytes_;
};

/// One file, whatever its name.
class BytesFileSystem final : public FileSystem {
 public:
  explicit BytesFileSystem(std::span<const std::byte> bytes) : bytes_(bytes) {}
  Result<std::unique_ptr<File>> open(const std::string&, OpenMode) override {
    return std::unique_ptr<File>(std::make_unique<BytesFile>(bytes_));
  }
  Result<std::vector<std::string>> list(const std::string&) override { std::abort(); }
  Result<bool> exists(const std::string&) override { return true; }
  Result<void> make_directory(const std::string&) override { std::abort(); }
  Result<void> rename(const std::string&, const std::string&) override { std::abort(); }
  Result<void> remove(const std::string&) override { std::abort(); }
  Result<void> sync_directory(const std::string&) override { std::abort(); }
  Result<FileIdentity> identity(const std::string&) override { std::abort(); }
  Result<std::uint64_t> free_bytes(const std::string&) override { std::abort(); }
  Result<std::unique_ptr<FileLock>> lock(const std::string&) override { std::abort(); }

 private:
  std::span<const std::byte> bytes_;
};

void read_segment(std::span<const std::byte> bytes, const SegmentHeader& header) {
  BytesFileSystem files(bytes);
  auto window = FileWindow::open(files, "segment", OpenMode::read);
  if (!window) std::abort();
  SegmentReader reader(*window, header);
  RecordAcceptor acceptor;
  for (;;) {
    const auto found = reader.next();
    if (!found) std::abort();
    if (found->finding != BatchFinding::valid) {
      (void)decide_tail(*window, header, reader.end(), *found, Lsn(0));
      return;
    }
    (void)read_records({found->body, found->header.first_lsn, found->header.count, Lsn()}, acceptor);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  RecordAcceptor acceptor;
  // As the body of a sound batch: sums keep a fuzzer from getting that far.
  (void)read_records({bytes, Lsn(1), 8, Lsn()}, acceptor);
  (void)newest_mark(bytes);
  (void)decode_sinks(bytes);
  (void)read_snapshot_header(bytes);
  // As the entries of a snapshot's chunk, and behind what any snapshot begins with.
  SnapshotAcceptor state;
  (void)SnapshotEntries(state).read(bytes);
  SnapshotEntries entries(state);
  constexpr std::array<std::byte, 3> kLogEntry = {std::byte{0x01}, std::byte{0}, std::byte{9}};
  if (!entries.read(kLogEntry)) std::abort();
  (void)entries.read(bytes);
  if (size >= kBlockBytes) {
    if (const auto header = read_segment_header(bytes.first(kBlockBytes))) read_segment(bytes, *header);
  }
  // And as what follows a sound header.
  SegmentHeader header;
  header.number = 1;
  header.incarnation = 1;
  header.segment_bytes = kSegmentBytesMin;
  header.first_lsn = Lsn(1);
  std::vector<std::byte> file(kBlockBytes + size);
  write_segment_header(std::span(file).first<kBlockBytes>(), header);
  std::memcpy(file.data() + kBlockBytes, data, size);
  read_segment(file, header);
  return 0;
}
