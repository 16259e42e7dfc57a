#include "storage/log_repair.h"

#include "protocol/check.h"
#include "storage/record_lines.h"
#include "storage/record_reader.h"

#include <fmt/format.h>

#include <charconv>

namespace holdfast {
namespace {

namespace json = boost::json;

constexpr std::string_view kFolderPrefix = "before-repair-";
constexpr std::string_view kOutSuffix = ".out";
constexpr std::string_view kInSuffix = ".in";
/// What a fork needs beside the batches: headers and the mark.
constexpr std::uint64_t kSpareBytes = 1_MiB;

/// The number in a folder's or a marker's name, 0 when it is none of them; what stands behind it.
std::uint64_t repair_number(std::string_view name, std::string_view& suffix) {
  if (!name.starts_with(kFolderPrefix)) return 0;
  name.remove_prefix(kFolderPrefix.size());
  std::uint64_t number = 0;
  const auto [end, ec] = std::from_chars(name.data(), name.data() + name.size(), number);
  suffix = name.substr(static_cast<std::size_t>(end - name.data()));
  return ec == std::errc() ? number : 0;
}

/// Gives a line for what happened to items and reservations.
class LostLines final : public RecordVisitor {
 public:
  LostLines(const LogSalvage& salvage, bool as_json, const LineSink& out)
      : salvage_(salvage), json_(as_json), out_(out) {}

  Result<void> on_item(const RecordStamp& stamp, const ItemRecord& record) override {
    auto line = begin(stamp, event_name(record.event));
    line["version"] = record.version.value();
    line["state"] = std::string(state_name(record.state));
    return end(line);
  }
  Result<void> on_reservation(const RecordStamp& stamp, const ReservationRecord& record) override {
    auto line = begin(stamp, event_name(record.event));
    const auto id = record.id.text();
    line["id"] = std::string(id.data(), id.size());
    line["user"] = percent_escaped(record.user.text());
    line["quantity"] = record.quantity.value();
    return end(line);
  }
  Result<void> on_forget(const RecordStamp& stamp, const ForgetRecord& record) override {
    auto line = begin(stamp, "FORGET");
    line["through"] = record.through.value();
    return end(line);
  }
  Result<void> on_default_returns(const RecordStamp& stamp, const DefaultReturnsRecord& record) override {
    auto line = begin(stamp, "DEFAULT-RETURNS");
    line["held"] = record.held;
    return end(line);
  }

 private:
  json::object begin(const RecordStamp& stamp, std::string_view event) const {
    json::object line;
    line["lsn"] = stamp.lsn.value();
    line["event"] = std::string(event);
    line["wall"] = to_ms(stamp.wall);
    if (stamp.item == ItemNumber()) return line;
    const auto name = salvage_.item_name(stamp.item);
    line["item"] = name.empty() ? fmt::format("number {}", stamp.item.value()) : percent_escaped(name);
    return line;
  }
  Result<void> end(const json::object& line) const {
    out_(render(line, json_));
    return {};
  }

  const LogSalvage& salvage_;
  bool json_;
  const LineSink& out_;
};

}  // namespace

std::string LogRepair::folder(const Stage& stage) const {
  return fmt::format("{}/{}{}", directory_, kFolderPrefix, stage.number);
}

Result<LogRepair::Stage> LogRepair::find_stage() const {
  const auto names = files_.list(directory_);
  if (!names) return names.error();
  Stage stage;
  for (const std::string& name : *names) {
    std::string_view suffix;
    const std::uint64_t number = repair_number(name, suffix);
    if (number == 0) continue;
    const bool begun = suffix == kOutSuffix || suffix == kInSuffix;
    if (begun) stage.number = number;
    stage.moving_out |= suffix == kOutSuffix;
    stage.moving_in |= suffix == kInSuffix;
    if (suffix.empty() && !stage.moving_out && !stage.moving_in) stage.number = std::max(stage.number, number + 1);
  }
  return stage;
}

Result<RepairReport> LogRepair::examine(const LogSalvage::Progress& progress) {
  const auto there = files_.exists(directory_);
  if (!there) return there.error();
  if (!*there) return Error::format(ErrorCode::not_found, "{} does not exist", directory_);
  RepairReport report;
  const auto stage = find_stage();
  if (!stage) return stage.error();
  report.unfinished = stage->moving_out || stage->moving_in;
  if (!report.unfinished) {
    const auto verdict = verify_log(files_, clock_, random_, directory_);
    if (!verdict) return verdict.error();
    report.usable = verdict->usable;
    report.refusal = verdict->refusal;
    report.kept = report.known = verdict->kept;
    if (report.usable) return report;
  }
  auto lock = files_.lock(lock_path(directory_));
  if (!lock) return lock.error();
  lock_ = std::move(*lock);
  if (report.unfinished) return report;
  auto salvage = LogSalvage::scan(files_, directory_, progress);
  if (!salvage) return salvage.error();
  report.base = salvage->base_lsn();
  report.kept = salvage->kept_through();
  report.known = std::max(salvage->known(), report.kept);
  report.lost = report.known.value() - report.kept.value();
  report.unreadable = salvage->unreadable();
  salvage_ = std::move(*salvage);
  return report;
}

Result<void> LogRepair::list_lost(bool as_json, const LineSink& out) {
  if (!salvage_) return {};
  LostLines lines(*salvage_, as_json, out);
  for (const BatchPlace& place : salvage_->lost()) {
    std::span<const std::byte> body;
    const auto header = salvage_->read(place, body);
    if (!header) return header.error();
    HOLDFAST_TRY(read_records({body, header->first_lsn, header->count, salvage_->kept_through()}, lines));
  }
  return {};
}

Result<RepairDone> LogRepair::carry_out(const LogSalvage::Progress& progress) {
  CHECK(lock_ != nullptr);
  RepairDone done;
  auto stage = find_stage();
  if (!stage) return stage.error();
  done.old_files = folder(*stage);
  if (!stage->moving_out && !stage->moving_in) {
    CHECK(salvage_);
    LogIdentity identity;
    const auto fork = write_fork(identity, progress);
    if (!fork) return fork.error();
    done.fork = *fork;
    done.id = identity.id;
    done.forked_from = identity.forked_from_id;
    HOLDFAST_TRY(write_marker(out_marker(*stage)));
    stage->moving_out = true;
  }
  if (!stage->moving_in) {
    HOLDFAST_TRY(move_out(*stage));
    HOLDFAST_TRY(write_marker(in_marker(*stage)));
  }
  HOLDFAST_TRY(LogFork::take_place(files_, directory_));
  if (stage->moving_out) HOLDFAST_TRY(files_.remove(out_marker(*stage)));
  HOLDFAST_TRY(files_.sync_directory(directory_));  // before the other one: moving out must not begin again
  HOLDFAST_TRY(files_.remove(in_marker(*stage)));
  HOLDFAST_TRY(files_.sync_directory(directory_));
  return done;
}

Result<ForkSummary> LogRepair::write_fork(LogIdentity& identity, const LogSalvage::Progress& progress) {
  HOLDFAST_TRY(LogFork::discard(files_, directory_));
  HOLDFAST_TRY(check_space());
  random_.fill(identity.id);
  random_.fill(identity.secret);
  identity.forked_from_id = salvage_->id();
  ForkSettings settings;
  settings.directory = directory_;
  settings.identity = identity;
  settings.restate = true;
  const ClockReading now = clock_.read();
  settings.clocks = salvage_->clocks().value_or(ClockPoint{{}, now.boot, now.wall, {}, clock_.boot_id()});
  LogFork fork(files_, settings);
  if (!salvage_->base().empty()) HOLDFAST_TRY(fork.begin_with(salvage_->base()));
  std::uint64_t bytes = 0;
  for (const BatchPlace& place : salvage_->kept()) {
    std::span<const std::byte> body;
    const auto header = salvage_->read(place, body);
    if (!header) return header.error();
    const auto added = fork.add(*header, body);
    if (!added) return added.error();
    bytes += body.size();
    if (progress) progress(bytes);
  }
  HOLDFAST_TRY(fork.write_out());
  return fork.summary();
}

Result<void> LogRepair::check_space() const {
  std::uint64_t needed = kSpareBytes;
  for (const BatchPlace& place : salvage_->kept()) needed += segment_format::padded_bytes(place.body_bytes);
  if (!salvage_->base().empty()) {
    const auto file = files_.open(salvage_->base(), OpenMode::read);
    if (!file) return file.error();
    const auto bytes = (*file)->size();
    if (!bytes) return bytes.error();
    needed += *bytes;
  }
  const auto free = files_.free_bytes(directory_);
  if (!free) return free.error();
  if (*free >= needed) return {};
  return Error::format(ErrorCode::no_space, "{} has {} bytes free, the repaired log needs {}", directory_, *free,
                       needed);
}

Result<void> LogRepair::move_out(const Stage& stage) {
  const auto found = look_at_directory(files_, directory_);
  if (!found) return found.error();
  std::vector<std::string> paths;
  for (const Lsn lsn : found->snapshots) paths.push_back(snapshot_path(directory_, lsn));
  const std::size_t snapshots = paths.size();
  for (const std::uint64_t number : found->segments) paths.push_back(segment_path(directory_, number));
  if (found->mark) paths.push_back(mark_path(directory_));
  if (found->sinks) paths.push_back(sinks_path(directory_));
  HOLDFAST_TRY(files_.make_directory(folder(stage)));
  for (std::size_t index = 0; index < paths.size(); ++index) {
    HOLDFAST_TRY(files_.rename(paths[index], folder(stage) + paths[index].substr(directory_.size())));
    if (index + 1 != snapshots && index != snapshots && index + 1 < paths.size()) continue;
    // Names become durable in any order: without its snapshots and its first segment a log is refused, whatever else is
    // left of it.
    HOLDFAST_TRY(files_.sync_directory(folder(stage)));
    HOLDFAST_TRY(files_.sync_directory(directory_));
  }
  return {};
}

Result<void> LogRepair::write_marker(const std::string& path) {
  const auto there = files_.exists(path);
  if (!there) return there.error();
  if (!*there) {
    auto file = files_.open(path, OpenMode::create);
    if (!file) return file.error();
    HOLDFAST_TRY((*file)->sync());
  }
  return files_.sync_directory(directory_);
}

}  // namespace holdfast
