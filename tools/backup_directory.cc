#include "tools/backup_directory.h"

#include "storage/log_files.h"
#include "tools/iso_time.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <algorithm>
#include <charconv>

#include <filesystem>
#include <fstream>

namespace holdfast {
namespace {

namespace json = boost::json;

constexpr int kFormat = 1;

/// Whether a backup that was cut off may have left a file of this name.
bool is_own(std::string_view name) {
  return name.starts_with("segment-") || name.starts_with("snapshot-") || name.starts_with("mark") ||
         name.starts_with(kBackupFile);
}

std::uint64_t number_in(const json::object& object, const char* key) {
  const json::value* value = object.if_contains(key);
  return value != nullptr && value->is_number() ? value->to_number<std::uint64_t>() : 0;
}

std::string_view text_in(const json::object& object, const char* key) {
  const json::value* value = object.if_contains(key);
  return value != nullptr && value->is_string() ? std::string_view(value->as_string()) : std::string_view();
}

std::optional<StateHash> state_of(std::string_view digits) {
  StateHash state;
  if (digits.size() != 32) return std::nullopt;
  const char* const middle = digits.data() + 16;
  const char* const end = digits.data() + 32;
  const bool high = std::from_chars(digits.data(), middle, state.high, 16).ptr == middle;
  const bool low = std::from_chars(middle, end, state.low, 16).ptr == end;
  return high && low ? std::optional(state) : std::nullopt;
}

}  // namespace

std::string hex(const LogId& id) { return fmt::format("{:02x}", fmt::join(id, "")); }
std::string hex(const StateHash& state) { return fmt::format("{:016x}{:016x}", state.high, state.low); }

std::optional<LogId> log_id_of(std::string_view digits) {
  LogId id{};
  if (digits.size() != 2 * id.size()) return std::nullopt;
  for (std::size_t i = 0; i < id.size(); ++i) {
    const char* const at = digits.data() + 2 * i;
    if (std::from_chars(at, at + 2, id[i], 16).ptr != at + 2) return std::nullopt;
  }
  return id;
}

json::object show(const BackupFacts& facts) {
  json::object shown{{"format", kFormat}, {"log", hex(facts.log)}};
  shown["snapshot-lsn"] = facts.snapshot.value();
  shown["through-lsn"] = facts.through.value();
  shown["through-time"] = iso_time(facts.through_time);
  shown["state"] = hex(facts.state);
  shown["made"] = iso_time(facts.made);
  shown["from"] = facts.from;
  return shown;
}

Result<std::optional<BackupFacts>> read_backup_facts(const std::string& directory) {
  const std::string path = fmt::format("{}/{}", directory, kBackupFile);
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::optional<BackupFacts>();
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  boost::system::error_code ec;
  const json::value value = json::parse(text, ec);
  if (ec || !value.is_object()) return Error::format(ErrorCode::damaged, "{}: it is not JSON", path);
  const json::object& object = value.as_object();
  if (number_in(object, "format") > kFormat) {
    return Error::format(ErrorCode::unsupported, "{}: format {} needs a newer Holdfast", path,
                         number_in(object, "format"));
  }
  const auto log = log_id_of(text_in(object, "log"));
  const auto state = state_of(text_in(object, "state"));
  const auto through_time = parse_time(text_in(object, "through-time"));
  const auto made = parse_time(text_in(object, "made"));
  if (number_in(object, "format") != kFormat || !log || !state || !through_time || !made) {
    return Error::format(ErrorCode::damaged, "{}: it does not say what a backup says", path);
  }
  BackupFacts facts;
  facts.log = *log;
  facts.state = *state;
  facts.snapshot = Lsn(number_in(object, "snapshot-lsn"));
  facts.through = Lsn(number_in(object, "through-lsn"));
  facts.through_time = *through_time;
  facts.made = *made;
  facts.from = text_in(object, "from");
  return std::optional(std::move(facts));
}

Result<BackupDirectory> BackupDirectory::begin(FileSystem& files, const std::string& directory) {
  std::string name = directory;
  while (name.size() > 1 && name.back() == '/') name.pop_back();
  BackupDirectory backup(files, name);
  const auto there = files.exists(name);
  if (!there) return there.error();
  if (*there) {
    const auto names = files.list(name);
    if (!names) return names.error();
    if (!names->empty()) {
      return Error::format(ErrorCode::bad_option, "{} is not empty; name a directory that is, or that is not there",
                           name);
    }
  }
  HOLDFAST_TRY(files.make_directory(backup.temporary_));
  HOLDFAST_TRY(backup.clear());
  return backup;
}

Result<void> BackupDirectory::clear() {
  const auto names = files_->list(temporary_);
  if (!names) return names.error();
  for (const std::string& name : *names) {
    if (is_own(name)) continue;
    return Error::format(ErrorCode::bad_option, "{} is where the backup is to be made, and holds '{}': move it away",
                         temporary_, Echo(name).text());
  }
  for (const std::string& name : *names) HOLDFAST_TRY(files_->remove(fmt::format("{}/{}", temporary_, name)));
  return {};
}

Result<void> BackupDirectory::publish(const BackupFacts& facts) {
  HOLDFAST_TRY(LogFork::take_place(*files_, temporary_));
  auto file = files_->open(fmt::format("{}/{}", temporary_, kBackupFile), OpenMode::create);
  if (!file) return file.error();
  const std::string text = json::serialize(show(facts)) + "\n";
  HOLDFAST_TRY((*file)->write(0, std::as_bytes(std::span(text))));
  HOLDFAST_TRY((*file)->sync());
  HOLDFAST_TRY(files_->sync_directory(temporary_));
  HOLDFAST_TRY(files_->rename(temporary_, directory_));
  return files_->sync_directory(parent_directory(directory_));
}

}  // namespace holdfast
