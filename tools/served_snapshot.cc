#include "tools/served_snapshot.h"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace holdfast {
namespace {

using SteadyClock = std::chrono::steady_clock;

/// The server keeps a snapshot and the log behind it for a minute after it was last read.
constexpr std::chrono::seconds kHoldEvery{15};

}  // namespace

class ServedSnapshot::Folder {
 public:
  static Result<std::unique_ptr<Folder>> make() {
    std::error_code ec;
    const auto parent = std::filesystem::temp_directory_path(ec);
    if (ec) return Error::format(ErrorCode::io_failed, "the folder for temporary files, TMPDIR: {}", ec.message());
    std::string path = (parent / "holdfast-snapshot-XXXXXX").string();
    if (mkdtemp(path.data()) == nullptr) {
      return Error::format(ErrorCode::io_failed, "mkdtemp {}: {}", path, std::generic_category().message(errno));
    }
    return std::unique_ptr<Folder>(new Folder(std::move(path)));
  }
  ~Folder() {
    std::error_code ec;
    std::filesystem::remove_all(path_, ec);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string file(const char* name) const { return path_ + "/" + name; }

 private:
  explicit Folder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

ServedSnapshot::ServedSnapshot(LogClient& log) : log_(log) {}
ServedSnapshot::~ServedSnapshot() = default;

Result<SnapshotReader> ServedSnapshot::fetch(const Progress& progress) {
  auto folder = Folder::make();
  if (!folder) return folder.error();
  folder_ = std::move(*folder);
  const std::string path = folder_->file("snapshot");
  auto file = files_.open(path, OpenMode::create);
  if (!file) return file.error();
  const auto lsn = log_.read_snapshot([&](std::uint64_t offset, std::span<const std::byte> bytes) {
    progress(offset);
    return (*file)->write(offset, bytes);
  });
  if (!lsn) return lsn.error();
  lsn_ = *lsn;
  held_at_ = SteadyClock::now();
  auto reader = SnapshotReader::open(files_, path);
  if (!reader) return reader.error();
  HOLDFAST_TRY(reader->verify());
  return reader;
}

Result<void> ServedSnapshot::hold() {
  if (SteadyClock::now() < held_at_ + kHoldEvery) return {};
  held_at_ = SteadyClock::now();
  return log_.hold_snapshot(lsn_);
}

}  // namespace holdfast
