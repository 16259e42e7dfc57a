#include "replication/file_sink.h"

#include "protocol/check.h"
#include "replication/event_json.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/json.hpp>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

namespace holdfast {
namespace {

namespace json = boost::json;

constexpr mode_t kMode = 0640;

Error failed(std::string_view call, const std::string& path) {
  const auto code = errno == ENOSPC || errno == EDQUOT ? ErrorCode::no_space : ErrorCode::io_failed;
  return Error::format(code, "{} {}: {}", call, path, std::generic_category().message(errno));
}

/// A file that only grows, but for what a crash left behind its known end.
class LineFile {
 public:
  explicit LineFile(std::string path) : path_(std::move(path)) {}
  ~LineFile() { close(); }
  LineFile(const LineFile&) = delete;
  LineFile& operator=(const LineFile&) = delete;

  Result<void> open() {
    close();
    fd_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, kMode);
    if (fd_ < 0) return failed("open", path_);
    return {};
  }

  /// Held until the file is closed, also by the end of the process.
  Result<void> lock() {
    if (flock(fd_, LOCK_EX | LOCK_NB) == 0) return {};
    if (errno != EWOULDBLOCK) return failed("flock", path_);
    return Error::format(ErrorCode::superseded, "another relay writes to {}", path_);
  }

  /// What is in a file without a cursor is somebody else's, or all that is left of a sink.
  Result<void> check_empty(const std::string& cursor_path) const {
    struct stat found {};
    if (fstat(fd_, &found) != 0) return failed("fstat", path_);
    if (found.st_size == 0) return {};
    return Error::format(ErrorCode::damaged, "{} holds {} bytes and there is no {}: move it away, or name another file",
                         path_, found.st_size, cursor_path);
  }

  /// Cuts off what lies behind `bytes`. A shorter file has lost what the cursor says that it holds.
  Result<void> trim(std::uint64_t bytes) {
    struct stat found {};
    if (fstat(fd_, &found) != 0) return failed("fstat", path_);
    const auto size = static_cast<std::uint64_t>(found.st_size);
    if (size < bytes) {
      return Error::format(ErrorCode::damaged, "{} holds {} bytes, and its cursor says {}: lines are gone", path_, size,
                           bytes);
    }
    if (size > bytes && ftruncate(fd_, static_cast<off_t>(bytes)) != 0) return failed("ftruncate", path_);
    bytes_ = bytes;
    return {};
  }

  Result<void> append(std::string_view lines) {
    for (std::string_view rest = lines; !rest.empty();) {
      const ssize_t size = pwrite(fd_, rest.data(), rest.size(), static_cast<off_t>(bytes_));
      if (size < 0 && errno == EINTR) continue;
      if (size < 0) return failed("write", path_);
      bytes_ += static_cast<std::uint64_t>(size);
      rest.remove_prefix(static_cast<std::size_t>(size));
    }
    if (!lines.empty() && fdatasync(fd_) != 0) return failed("fdatasync", path_);
    return {};
  }

  const std::string& path() const noexcept { return path_; }
  std::uint64_t bytes() const noexcept { return bytes_; }

 private:
  void close() noexcept {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }

  std::string path_;
  int fd_ = -1;
  std::uint64_t bytes_ = 0;
};

struct FileCursor {
  bool there = false;
  Cursor cursor;
  std::uint64_t bytes = 0;
  std::uint64_t items_bytes = 0;
};

Result<FileCursor> parse_cursor(const std::string& path, const std::string& text) {
  boost::system::error_code ec;
  const json::value value = json::parse(text, ec);
  const auto damaged = Error::format(ErrorCode::damaged, "{} is no cursor", path);
  if (ec || !value.is_object()) return damaged;
  const auto number = [&](std::string_view name, std::uint64_t& to) {
    const auto* const member = value.get_object().if_contains(json::string_view(name.data(), name.size()));
    if (member == nullptr || !member->is_int64() || member->get_int64() < 0) return false;
    to = static_cast<std::uint64_t>(member->get_int64());
    return true;
  };
  FileCursor found;
  std::uint64_t lsn = 0, epoch = 0;
  const auto* const log = value.get_object().if_contains("log");
  const bool whole = log != nullptr && log->is_string() && number("lsn", lsn) && number("epoch", epoch) &&
                     number("bytes", found.bytes) && number("itemsBytes", found.items_bytes);
  if (!whole) return damaged;
  const auto id = parse_log_id(std::string_view(log->get_string()));
  if (!id) return damaged;
  found.there = true;
  found.cursor = {*id, Lsn(lsn), Epoch(epoch)};
  return found;
}

class FileSink final : public EventSink {
 public:
  explicit FileSink(std::string path) : lines_(path), items_(path + ".items"), cursor_path_(path + ".cursor") {}

  Result<SinkState> open() override;
  Result<void> apply(const LogId& log, const EventBatch& batch) override;
  // A file refuses no row.
  Result<std::vector<ParkNotice>> untold(std::size_t) override { return std::vector<ParkNotice>(); }
  Result<void> told(const std::vector<ParkNotice>&) override { return {}; }
  SinkFigures figures() const override { return {}; }
  std::vector<std::string> take_alarms() override { return {}; }
  Result<StartReport> bootstrap(StartState& state, bool set_aside) override;
  Result<Cursor> adopt(const LogRange& range) override;

 private:
  Result<std::string> put_aside(Epoch epoch);
  Result<FileCursor> read_cursor() const;
  Result<void> write_cursor(const Cursor& cursor);
  Result<SinkItems> read_items() const;

  LineFile lines_;
  LineFile items_;
  std::string cursor_path_;
  Cursor cursor_;
};

Result<SinkState> FileSink::open() {
  HOLDFAST_TRY(lines_.open());
  HOLDFAST_TRY(lines_.lock());
  const auto found = read_cursor();
  if (!found) return found.error();
  HOLDFAST_TRY(items_.open());
  for (const LineFile* file : {&lines_, &items_}) {
    if (!found->there) HOLDFAST_TRY(file->check_empty(cursor_path_));
  }
  HOLDFAST_TRY(items_.trim(found->items_bytes));
  HOLDFAST_TRY(lines_.trim(found->bytes));
  auto items = read_items();
  if (!items) return items.error();
  cursor_ = found->cursor;
  cursor_.epoch = cursor_.epoch.next();
  HOLDFAST_TRY(write_cursor(cursor_));
  return SinkState{cursor_, std::move(*items)};
}

Result<void> FileSink::apply(const LogId& log, const EventBatch& batch) {
  CHECK(cursor_.log == LogId{} || cursor_.log == log);
  CHECK(batch.through >= cursor_.lsn);
  std::string lines, items;
  for (const Event& event : batch.events) {
    lines += json::serialize(event_to_json(event));
    lines += '\n';
    if (event.item_change() == nullptr) continue;
    items += json::serialize(facts_to_json(*event.item));
    items += '\n';
  }
  HOLDFAST_TRY(lines_.append(lines));
  HOLDFAST_TRY(items_.append(items));
  const Cursor next{log, batch.through, cursor_.epoch};
  HOLDFAST_TRY(write_cursor(next));
  cursor_ = next;
  return {};
}

/// What the items are. Reservations of before have no events that could be lines.
class ItemLines final : public StartVisitor {
 public:
  Result<void> on_item(const StartItem& item) override {
    ++items;
    lines += json::serialize(facts_to_json(*item.facts));
    lines += '\n';
    return {};
  }
  Result<void> on_orders(const StartItem&, std::span<const OrderChange>) override { return {}; }

  std::string lines;
  std::uint64_t items = 0;
};

Result<StartReport> FileSink::bootstrap(StartState& state, bool set_aside) {
  const auto before = open();
  if (!before) return before.error();
  StartReport report;
  report.cursor = {state.log(), state.lsn(), before->cursor.epoch};
  if (is_log(before->cursor.log)) {
    if (!set_aside) {
      return Error::format(ErrorCode::bad_option,
                           "{} has what happened up to LSN {} of log {}: --set-aside renames it and begins anew",
                           lines_.path(), before->cursor.lsn.value(), log_id_text(before->cursor.log));
    }
    auto suffix = put_aside(before->cursor.epoch);
    if (!suffix) return suffix.error();
    report.set_aside = lines_.path() + *suffix;
  }
  ItemLines items;
  HOLDFAST_TRY(state.read(items));
  HOLDFAST_TRY(items_.append(items.lines));
  HOLDFAST_TRY(write_cursor(report.cursor));
  cursor_ = report.cursor;
  report.items = items.items;
  return report;
}

/// The cursor last: with it and without the lines nothing begins by itself.
Result<std::string> FileSink::put_aside(Epoch epoch) {
  const std::string suffix = ".before-" + std::to_string(epoch.value());
  const std::string lines = lines_.path(), items = items_.path();
  for (const std::string& path : {lines, items, cursor_path_}) {
    if (rename(path.c_str(), (path + suffix).c_str()) != 0) return failed("rename", path);
  }
  HOLDFAST_TRY(lines_.open());
  HOLDFAST_TRY(lines_.lock());
  HOLDFAST_TRY(lines_.trim(0));
  HOLDFAST_TRY(items_.open());
  HOLDFAST_TRY(items_.trim(0));
  return suffix;
}

Result<Cursor> FileSink::adopt(const LogRange& range) {
  const auto before = open();
  if (!before) return before.error();
  HOLDFAST_TRY(check_adoption(before->cursor, range));
  const Cursor cursor{range.log, before->cursor.lsn, before->cursor.epoch};
  HOLDFAST_TRY(write_cursor(cursor));
  cursor_ = cursor;
  return cursor;
}

Result<FileCursor> FileSink::read_cursor() const {
  std::ifstream file(cursor_path_);
  if (!file) {
    if (errno == ENOENT) return FileCursor{};
    return failed("open", cursor_path_);
  }
  std::ostringstream text;
  text << file.rdbuf();
  if (file.bad()) return failed("read", cursor_path_);
  return parse_cursor(cursor_path_, text.str());
}

Result<void> FileSink::write_cursor(const Cursor& cursor) {
  const json::object object = {{"log", log_id_text(cursor.log)},
                               {"lsn", cursor.lsn.value()},
                               {"epoch", cursor.epoch.value()},
                               {"bytes", lines_.bytes()},
                               {"itemsBytes", items_.bytes()}};
  const std::string temporary = cursor_path_ + ".tmp";
  {
    LineFile file(temporary);
    HOLDFAST_TRY(file.open());
    HOLDFAST_TRY(file.trim(0));
    HOLDFAST_TRY(file.append(json::serialize(object) + "\n"));
  }
  if (rename(temporary.c_str(), cursor_path_.c_str()) != 0) return failed("rename", temporary);
  const auto directory = std::filesystem::absolute(cursor_path_).parent_path().string();
  const int fd = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return failed("open", directory);
  const bool synced = fsync(fd) == 0;
  const auto error = synced ? Error() : failed("fsync", directory);
  close(fd);
  if (!synced) return error;
  return {};
}

Result<SinkItems> FileSink::read_items() const {
  std::ifstream file(items_.path());
  if (!file) return failed("open", items_.path());
  SinkItems items;
  for (std::string line; std::getline(file, line);) {
    const auto facts = facts_from_json(line);
    if (!facts) return Error::format(ErrorCode::damaged, "{}: {}", items_.path(), facts.error().text());
    items.put(*facts);
  }
  return items;
}

}  // namespace

std::unique_ptr<EventSink> make_file_sink(std::string path) { return std::make_unique<FileSink>(std::move(path)); }

}  // namespace holdfast
