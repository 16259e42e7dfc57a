// Finds what is left of a damaged log: every sound batch in any of its segments' files, wherever it lies, and how many of
// them follow one another from the log's beginning. A batch says itself to which log it belongs, which LSNs it has and
// which batch it follows, so that damaged headers, swapped or renamed files lose nothing. Reads only. One thread.
#pragma once

#include "storage/aligned_buffer.h"
#include "storage/log_files.h"
#include "storage/segment_reader.h"

#include <boost/unordered/unordered_flat_map.hpp>

#include <functional>
#include <optional>

namespace holdfast {

/// A sound batch and where it lies.
struct BatchPlace {
  std::uint64_t file = 0;  // the number in the file's name
  std::uint64_t offset = 0;
  Lsn first_lsn;
  std::uint32_t count = 0;
  std::uint32_t body_bytes = 0;
  std::uint64_t epoch = 0;
  std::uint64_t previous_sum = 0;
  std::uint64_t body_sum = 0;

  Lsn last_lsn() const noexcept { return Lsn(first_lsn.value() + count - 1); }
};

/// From the first to the second, both included.
using LsnRange = std::pair<Lsn, Lsn>;

class LogSalvage {
 public:
  using Progress = std::function<void(std::uint64_t bytes_done)>;
  /// Looks at every block. Errors: not_found where there is no log; io_failed where the device cannot read, which may be
  /// another place at the next try: nothing should be given up for that.
  static Result<LogSalvage> scan(FileSystem& files, const std::string& directory, const Progress& progress = {});

  /// The batches that follow one another from LSN 1 on, or from a snapshot that leads further: what a repair keeps.
  const std::vector<BatchPlace>& kept() const noexcept { return kept_; }
  Lsn kept_through() const noexcept { return kept_.empty() ? base_.lsn : kept_.back().last_lsn(); }
  /// The path of that snapshot, and what it ends with; empty and none: there is no need for one.
  const std::string& base() const noexcept { return base_.path; }
  Lsn base_lsn() const noexcept { return base_.lsn; }
  /// Sound batches behind that, by LSN.
  const std::vector<BatchPlace>& lost() const noexcept { return lost_; }
  /// The highest LSN that anything mentions.
  Lsn known() const noexcept { return known_; }
  /// LSNs behind those kept that stand in no sound batch.
  std::vector<LsnRange> unreadable() const;

  /// The log's id, as most of its segments say.
  const LogId& id() const noexcept { return id_; }
  /// Where the clocks stood last, if its mark says so.
  const std::optional<ClockPoint>& clocks() const noexcept { return clocks_; }
  /// Of an item by its number; empty where no item record is left.
  std::string_view item_name(ItemNumber number) const;

  /// Reads a batch again; the body is valid until the next call. Errors: io_failed, damaged.
  Result<BatchHeader> read(const BatchPlace& place, std::span<const std::byte>& body);

 private:
  struct Start {
    std::uint64_t incarnation = 0;
    BootId boot_id{};
  };
  struct Sound {
    BatchPlace place;
    std::uint64_t log_tag = 0;
  };
  /// A state from which batches lead on.
  struct Base {
    Lsn lsn;
    std::string path;  // of a snapshot; empty: the empty state before LSN 1
    std::uint64_t epoch = 1;
  };
  class Scanner;

  LogSalvage(FileSystem& files, std::string directory) : files_(&files), directory_(std::move(directory)) {}
  void choose_log(const std::vector<Sound>& sound);
  std::vector<Base> find_bases(const std::vector<Lsn>& snapshots) const;
  std::vector<BatchPlace> follow(const Base& base, const std::vector<Sound>& sound) const;
  void divide(const std::vector<Base>& bases, std::vector<Sound> sound);

  FileSystem* files_;
  std::string directory_;
  Base base_;
  std::vector<BatchPlace> kept_;
  std::vector<BatchPlace> lost_;
  Lsn known_;
  std::vector<LogId> header_ids_;
  LogId id_{};
  std::uint64_t tag_ = 0;
  std::optional<LogId> mark_id_;
  std::optional<ClockPoint> clocks_;
  boost::unordered_flat_map<std::uint64_t, Start> starts_;       // by file
  boost::unordered_flat_map<std::uint64_t, std::string> names_;  // by item number
  std::unique_ptr<File> open_;
  std::uint64_t open_number_ = 0;
  AlignedBuffer buffer_;
};

}  // namespace holdfast
