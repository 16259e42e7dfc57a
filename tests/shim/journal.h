// The shim's journal: what a power cut could still undo, in the order in which it happened. Appended with plain
// write calls, so that it survives SIGKILL of the process; read by the shim when it starts and by
// holdfast-undo.
//
//   journal := record*            record := JournalHeader payload trailer(4)
//
//   kind             inode     payload
//   write            of file   a bit per 512-byte sector: was not zero before; then those sectors as they were
//   done             of file   -                       `position` names the write; flags tell how it went
//   sync             of file   -                       covers what was done before `position`
//   failed_sync      of file   -                       what it would have covered, no later sync covers
//   reverted         of file   -                       failed writes were put back; the file is what the disk
//   has create           of file   path                    a name appeared rename           of file   from, to,
//   saved         `saved`: link to the file that `to` was before, or empty remove           of file   path,
//   saved             `saved`: link to the file cancel           -         -                       `position`
//   names a rename or remove that did not happen sync_directory   -         path                    covers the
//   changes of names before `position`
//
// A record that the kill cut short is the last one and stands for a call that was not made. Shim: any thread,
// under the shim's mutex. Only system calls, no library functions that the shim itself replaces.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::shim {

inline constexpr std::size_t kSectorBytes = 512;

enum class JournalKind : std::uint32_t {
  write = 1,
  done = 2,
  sync = 3,
  failed_sync = 4,
  reverted = 5,
  create = 6,
  rename = 7,
  remove = 8,
  cancel = 9,
  sync_directory = 10,
};

inline constexpr std::uint32_t kDurable = 1;  // done: the file was open with O_DSYNC or O_SYNC and the write succeeded
inline constexpr std::uint32_t kFailed = 2;   // done: the write failed or was cut short
inline constexpr std::uint32_t kNewFile =
    4;  // create: by open, not by link: what the journal says of the inode was another file's

struct JournalHeader {
  std::uint32_t magic = 0;
  JournalKind kind{};
  std::uint64_t bytes = 0;  // of the whole record
  std::uint32_t pid = 0;
  std::uint32_t flags = 0;
  std::uint64_t inode = 0;
  std::uint64_t position = 0;  // of an earlier record, or of the journal's end at an earlier time
  std::uint64_t offset = 0;    // write: the range
  std::uint64_t length = 0;
  std::uint64_t old_size = 0;  // write: the file's size before and after
  std::uint64_t new_size = 0;
};
static_assert(sizeof(JournalHeader) == 72);

/// A record as read: where it begins, its header, its payload.
struct JournalRecord {
  std::uint64_t at = 0;
  JournalHeader header{};
  std::string payload;

  /// The n-th of the strings in the payload.
  std::string text(std::size_t n) const;
  /// write: the first sector, how many, and the n-th of them as it was before (empty: zeros).
  std::uint64_t first_sector() const noexcept { return header.offset / kSectorBytes; }
  std::uint64_t sector_count() const noexcept;
  std::string_view old_sector(std::uint64_t n) const;
};

/// All whole records of the file; none if it does not exist.
std::vector<JournalRecord> read_journal(const std::string& path);

class JournalWriter {
 public:
  /// Opens or creates; continues after the records of earlier processes, in place of one that a kill cut short unless
  /// another process is at it (a shared flock says so). Ends the process with a message if it cannot.
  void open(const std::string& path);
  bool is_open() const noexcept { return fd_ >= 0; }
  /// Appends and returns where the record begins.
  std::uint64_t append(JournalHeader header, std::string_view payload) const;
  std::uint64_t append(JournalHeader header, std::span<const std::string_view> texts) const;
  /// Where the next record of this process would begin at the earliest.
  std::uint64_t end() const;

 private:
  int fd_ = -1;
};

/// The payload of a write over [offset, offset+length) of the file open as `fd`, read before the write.
std::string old_sectors(int fd, std::uint64_t offset, std::uint64_t length, std::uint64_t old_size);

/// Prints "holdfast shim: what: reason" and ends the process with status 70: a test tool that cannot work must
/// not pass.
[[noreturn]] void give_up(std::string_view what, std::string_view reason);

}  // namespace holdfast::shim
