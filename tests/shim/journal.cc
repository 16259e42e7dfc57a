#include "tests/shim/journal.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace holdfast::shim {
namespace {

constexpr std::uint32_t kMagic = 0x5ec7055d;
constexpr int kDescriptorMin = 400;  // out of the way of the program's own
constexpr int kExitStatus = 70;

bool all_zero(std::string_view bytes) noexcept {
  return std::all_of(bytes.begin(), bytes.end(), [](char byte) { return byte == 0; });
}

bool valid(const JournalHeader& header, std::uint64_t bytes_left) noexcept {
  return header.magic == kMagic && header.bytes >= sizeof header + sizeof kMagic && header.bytes <= bytes_left;
}

std::string read_all(const std::string& path) {
  std::string all;
  const long fd = ::syscall(SYS_openat, AT_FDCWD, path.c_str(), O_RDONLY | O_CLOEXEC, 0);
  if (fd < 0 && errno == ENOENT) return all;
  if (fd < 0) give_up(path, std::strerror(errno));
  std::array<char, 65536> part;
  for (ssize_t got; (got = ::read(static_cast<int>(fd), part.data(), part.size())) > 0;) {
    all.append(part.data(), static_cast<std::size_t>(got));
  }
  ::syscall(SYS_close, fd);
  return all;
}

}  // namespace

void give_up(std::string_view what, std::string_view reason) {
  std::string line = "holdfast shim: ";
  line.append(what).append(": ").append(reason).append("\n");
  ::syscall(SYS_write, STDERR_FILENO, line.data(), line.size());
  ::_exit(kExitStatus);
}

std::string JournalRecord::text(std::size_t n) const {
  std::size_t begin = 0;
  for (; n > 0; --n) begin = payload.find('\0', begin) + 1;
  return payload.substr(begin, payload.find('\0', begin) - begin);
}

std::uint64_t JournalRecord::sector_count() const noexcept {
  if (header.length == 0) return 0;
  return (header.offset + header.length - 1) / kSectorBytes - first_sector() + 1;
}

std::string_view JournalRecord::old_sector(std::uint64_t n) const {
  const std::size_t bitmap_bytes = (sector_count() + 7) / 8;
  std::size_t before = 0;
  const auto kept = [&](std::uint64_t sector) { return payload[sector / 8] >> (sector % 8) & 1; };
  if (!kept(n)) return {};
  for (std::uint64_t sector = 0; sector < n; ++sector) before += kept(sector) ? 1u : 0u;
  return std::string_view(payload).substr(bitmap_bytes + before * kSectorBytes, kSectorBytes);
}

std::vector<JournalRecord> read_journal(const std::string& path) {
  const std::string all = read_all(path);
  std::vector<JournalRecord> records;
  for (std::uint64_t at = 0; all.size() - at >= sizeof(JournalHeader);) {
    JournalRecord record;
    record.at = at;
    std::memcpy(&record.header, all.data() + at, sizeof record.header);
    if (!valid(record.header, all.size() - at)) break;
    record.payload = all.substr(at + sizeof record.header, record.header.bytes - sizeof record.header - sizeof kMagic);
    at += record.header.bytes;
    records.push_back(std::move(record));
  }
  return records;
}

void JournalWriter::open(const std::string& path) {
  const long fd = ::syscall(SYS_openat, AT_FDCWD, path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (fd < 0) give_up(path, std::strerror(errno));
  const int moved = ::fcntl(static_cast<int>(fd), F_DUPFD_CLOEXEC, kDescriptorMin);
  fd_ = moved >= 0 ? moved : static_cast<int>(fd);
  if (moved >= 0) ::syscall(SYS_close, fd);
  if (::flock(fd_, LOCK_EX | LOCK_NB) == 0) {
    const auto records = read_journal(path);
    const std::uint64_t end = records.empty() ? 0 : records.back().at + records.back().header.bytes;
    if (::syscall(SYS_ftruncate, fd_, end) != 0) give_up(path, std::strerror(errno));
  }
  if (::flock(fd_, LOCK_SH) != 0) give_up(path, std::strerror(errno));
}

std::uint64_t JournalWriter::append(JournalHeader header, std::string_view payload) const {
  header.magic = kMagic;
  header.bytes = sizeof header + payload.size() + sizeof kMagic;
  header.pid = static_cast<std::uint32_t>(::syscall(SYS_getpid));
  std::string record(reinterpret_cast<const char*>(&header), sizeof header);
  record.append(payload).append(reinterpret_cast<const char*>(&kMagic), sizeof kMagic);
  const long wrote = ::syscall(SYS_write, fd_, record.data(), record.size());
  if (wrote != static_cast<long>(record.size())) give_up("journal", "a record could not be written");
  return static_cast<std::uint64_t>(::lseek(fd_, 0, SEEK_CUR)) - record.size();
}

std::uint64_t JournalWriter::append(JournalHeader header, std::span<const std::string_view> texts) const {
  std::string payload;
  for (const std::string_view text : texts) payload.append(text).push_back('\0');
  return append(header, payload);
}

std::uint64_t JournalWriter::end() const { return static_cast<std::uint64_t>(::lseek(fd_, 0, SEEK_END)); }

std::string old_sectors(int fd, std::uint64_t offset, std::uint64_t length, std::uint64_t old_size) {
  if (length == 0) return {};
  const std::uint64_t begin = offset / kSectorBytes * kSectorBytes;
  const std::uint64_t sectors = (offset + length - 1) / kSectorBytes - offset / kSectorBytes + 1;
  std::string payload((sectors + 7) / 8, '\0');
  if (begin >= old_size) return payload;
  std::string old(sectors * kSectorBytes, '\0');  // beyond the end: zeros
  for (std::size_t done = 0; done < old.size();) {
    const auto got = ::pread64(fd, old.data() + done, old.size() - done, static_cast<off64_t>(begin + done));
    if (got < 0 && errno != EINTR) give_up("reading old bytes", std::strerror(errno));
    if (got == 0) break;
    if (got > 0) done += static_cast<std::size_t>(got);
  }
  for (std::uint64_t sector = 0; sector < sectors; ++sector) {
    const auto bytes = std::string_view(old).substr(sector * kSectorBytes, kSectorBytes);
    if (all_zero(bytes)) continue;
    payload[sector / 8] = static_cast<char>(payload[sector / 8] | 1 << (sector % 8));
    payload.append(bytes);
  }
  return payload;
}

}  // namespace holdfast::shim
