#include "storage/posix_file_system.h"

#include "storage/posix_file.h"
#include "tests/doctest.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <new>

using namespace holdfast;

namespace {

/// A directory of the test's own below `base`, removed at its end.
class Folder {
 public:
  explicit Folder(const std::string& base = std::filesystem::temp_directory_path())
      : path_(base + "/holdfast-test-XXXXXX") {
    REQUIRE(::mkdtemp(path_.data()) != nullptr);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string operator/(std::string_view name) const { return path_ + "/" + std::string(name); }
  const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
};

/// Bytes aligned for durable writes, byte n being n * 7 mod 251, plus `add`.
class Aligned {
 public:
  explicit Aligned(std::size_t size, int add = 0)
      : bytes_(static_cast<std::byte*>(::operator new (size, std::align_val_t{kBlockBytes})), size) {
    for (std::size_t n = 0; n < size; ++n) bytes_[n] = std::byte(n * 7 % 251 + static_cast<std::size_t>(add));
  }
  ~Aligned() { ::operator delete (bytes_.data(), std::align_val_t{kBlockBytes}); }
  Aligned(const Aligned&) = delete;
  Aligned& operator=(const Aligned&) = delete;
  std::span<std::byte> all() const noexcept { return bytes_; }

 private:
  std::span<std::byte> bytes_;
};

mode_t mode_of(const std::string& path) {
  struct stat status {};
  REQUIRE(::stat(path.c_str(), &status) == 0);
  return status.st_mode & 0777;
}

std::unique_ptr<File> must_open(const std::string& path, OpenMode mode) {
  auto file = PosixFileSystem().open(path, mode);
  REQUIRE_MESSAGE(file.has_value(), std::string(file ? "" : file.error().text()));
  return std::move(*file);
}

void check_same(std::span<const std::byte> found, std::span<const std::byte> want) {
  CHECK(std::equal(found.begin(), found.end(), want.begin(), want.end()));
}

/// Writes durably and reads back in every mode, at aligned and odd places. Whether the file was opened direct.
bool durable_round_trip(const Folder& folder) {
  const Aligned zeros(64 * kBlockBytes);
  {
    const auto made = must_open(folder / "a", OpenMode::create);
    REQUIRE(made->write(0, zeros.all()).has_value());
    REQUIRE(made->sync().has_value());
  }
  const Aligned fresh(4 * kBlockBytes, 1);
  const auto live = must_open(folder / "a", OpenMode::for_durable_writes);
  CHECK(live->write_durable(8 * kBlockBytes, fresh.all()).has_value());
  const auto reader = must_open(folder / "a", OpenMode::read);
  const auto suspicious = must_open(folder / "a", OpenMode::read_suspicious);
  for (File* file : {live.get(), reader.get(), suspicious.get()}) {
    CHECK(file->size().value() == 64 * kBlockBytes);
    std::vector<std::byte> odd(3 * kBlockBytes + 17);
    CHECK(file->read(8 * kBlockBytes + 5, odd).value() == odd.size());
    check_same(odd, fresh.all().subspan(5, odd.size()));
    std::vector<std::byte> beyond(1000);
    CHECK(file->read(64 * kBlockBytes - 10, beyond).value() == 10);
    CHECK(file->read(65 * kBlockBytes, beyond).value() == 0);
  }
  return static_cast<PosixFile&>(*live).direct();
}

}  // namespace

TEST_CASE("posix_file_system: durable writes are read back, on the disk's file system and in memory's") {
  const bool on_disk = durable_round_trip(Folder("."));
  const bool in_memory = durable_round_trip(Folder("/dev/shm"));
  MESSAGE("direct: here " << on_disk << ", /dev/shm " << in_memory);
}

TEST_CASE("posix_file_system: a direct reader meets an end that is not on a block") {
  const Folder folder(".");
  const Aligned bytes(10'000);
  REQUIRE(must_open(folder / "a", OpenMode::create)->write(0, bytes.all()).has_value());
  const auto file = must_open(folder / "a", OpenMode::read_suspicious);
  const Aligned into(3 * kBlockBytes);
  CHECK(file->read(0, into.all()).value() == 10'000);
  check_same(into.all().first(10'000), bytes.all());
  std::vector<std::byte> odd(2000);
  CHECK(file->read(9'000, odd).value() == 1'000);
}

TEST_CASE("posix_file_system: reads longer than the bounce buffer") {
  const Folder folder(".");
  const Aligned bytes(1_MiB + 4096);
  REQUIRE(must_open(folder / "a", OpenMode::create)->write(0, bytes.all()).has_value());
  std::vector<std::byte> into(1_MiB + 100);
  CHECK(must_open(folder / "a", OpenMode::read_suspicious)->read(3, into).value() == into.size());
  check_same(into, bytes.all().subspan(3, into.size()));
}

TEST_CASE("posix_file_system: private modes, whatever the umask") {
  const mode_t before = ::umask(0);
  const Folder folder;
  PosixFileSystem files;
  REQUIRE(files.make_directory(folder / "x/y/z").has_value());
  CHECK(files.make_directory(folder / "x/y/z").has_value());
  must_open(folder / "x/a", OpenMode::create);
  REQUIRE(files.lock(folder / "x/lock").has_value());
  ::umask(before);
  CHECK(mode_of(folder / "x") == 0700);
  CHECK(mode_of(folder / "x/y/z") == 0700);
  CHECK(mode_of(folder / "x/a") == 0600);
  CHECK(mode_of(folder / "x/lock") == 0600);
}

TEST_CASE("posix_file_system: names are listed in order, moved, removed") {
  const Folder folder;
  PosixFileSystem files;
  for (const auto* name : {"c", "a", "b"}) must_open(folder / name, OpenMode::create);
  CHECK(files.list(folder.path()).value() == std::vector<std::string>{"a", "b", "c"});
  CHECK(files.rename(folder / "a", folder / "c").has_value());
  CHECK(files.remove(folder / "b").has_value());
  CHECK(files.list(folder.path()).value() == std::vector<std::string>{"c"});
  CHECK(files.exists(folder / "c").value());
  CHECK_FALSE(files.exists(folder / "a").value());
  CHECK_FALSE(files.exists(folder / "c/below").value());
  CHECK(files.sync_directory(folder.path()).has_value());
  CHECK(files.free_bytes(folder.path()).value() > 0);
}

TEST_CASE("posix_file_system: errors carry call, path, reason and the right code") {
  const Folder folder;
  PosixFileSystem files;
  const auto missing = files.open(folder / "none", OpenMode::read);
  CHECK(missing.error().code() == ErrorCode::not_found);
  CHECK(missing.error().text() == "open " + (folder / "none") + ": No such file or directory");
  must_open(folder / "a", OpenMode::create);
  CHECK(files.open(folder / "a", OpenMode::create).error().code() == ErrorCode::io_failed);
  CHECK(files.remove(folder / "none").error().code() == ErrorCode::not_found);
  CHECK(files.rename(folder / "none", folder / "b").error().code() == ErrorCode::not_found);
  CHECK(files.list(folder / "none").error().code() == ErrorCode::not_found);
  CHECK(files.sync_directory(folder / "none").error().code() == ErrorCode::not_found);
  CHECK(files.make_directory(folder / "a/b").error().code() == ErrorCode::io_failed);
}

TEST_CASE("posix_file_system: a file under another's name is told by its identity") {
  const Folder folder;
  PosixFileSystem files;
  const auto file = must_open(folder / "a", OpenMode::create);
  CHECK(file->identity().value() == files.identity(folder / "a").value());
  REQUIRE(files.remove(folder / "a").has_value());
  CHECK(file->identity().value().links == 0);
  must_open(folder / "a", OpenMode::create);
  CHECK(file->identity().value() != files.identity(folder / "a").value());
}

TEST_CASE("posix_file_system: one lock a file, also between processes, gone with its owner") {
  const Folder folder;
  PosixFileSystem files;
  auto lock = files.lock(folder / "lock");
  REQUIRE(lock.has_value());
  CHECK(files.lock(folder / "lock").error().code() == ErrorCode::locked);
  const pid_t child = ::fork();
  if (child == 0) ::_exit(PosixFileSystem().lock(folder / "lock").has_value() ? 1 : 0);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  lock->reset();
  CHECK(files.lock(folder / "lock").has_value());
}

TEST_CASE("posix_file_system: a write cut short is an error") {
  const Folder folder;
  const pid_t child = ::fork();
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{10'000, 10'000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    const Aligned bytes(16'384);
    auto file = PosixFileSystem().open(folder / "a", OpenMode::create);
    ::_exit(file && !(*file)->write(0, bytes.all()) ? 0 : 1);
  }
  int status = 1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

TEST_CASE("posix_file_system: a sync that cannot work is an error, not ignored") {
  auto file = PosixFile::open("/proc/self/status", OpenMode::read);  // fdatasync there: EINVAL
  REQUIRE(file.has_value());
  CHECK((*file)->sync().error().code() == ErrorCode::io_failed);
}
