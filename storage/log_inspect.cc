#include "storage/log_inspect.h"

#include "storage/log_copy.h"
#include "storage/log_salvage.h"
#include "storage/log_walk.h"
#include "storage/record_lines.h"
#include "storage/recovery_tail.h"
#include "storage/snapshot_reader.h"
#include "storage/state_hasher.h"

#include <fmt/format.h>

#include <algorithm>

namespace holdfast {
namespace {

namespace json = boost::json;

std::string hex(std::span<const std::uint8_t> bytes) {
  std::string text;
  for (const auto byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

std::string segment_line(const SegmentHeader& header, bool as_json) {
  json::object line;
  line["segment"] = header.number;
  line["log"] = hex(header.log.id);
  line["first-lsn"] = header.first_lsn.value();
  line["incarnation"] = header.incarnation;
  line["bytes"] = header.segment_bytes;
  line["boot"] = hex(header.clocks.boot_id);
  line["predecessor-last-lsn"] = header.predecessor.last_lsn.value();
  line["predecessor-bytes"] = header.predecessor.length_bytes;
  line["predecessor-sum"] = fmt::format("{:016x}", header.predecessor.sum);
  if (header.log.forked_from_id != kNoLogId) {
    line["forked-from"] = hex(header.log.forked_from_id);
    line["forked-from-lsn"] = header.log.forked_from_lsn.value();
  }
  return render(line, as_json);
}

std::string batch_line(const FoundBatch& batch, bool as_json) {
  const BatchHeader& header = batch.header;
  json::object line;
  line["batch"] = batch.offset;
  line["first-lsn"] = header.first_lsn.value();
  line["records"] = header.count;
  line["bytes"] = header.body_bytes;
  line["durable-lsn"] = header.durable_lsn.value();
  line["hold"] = header.clocks.hold.count() / 1'000'000;
  line["wall"] = header.clocks.wall.count() / 1'000'000;
  line["state"] = fmt::format("{:016x}{:016x}", header.state.high, header.state.low);
  line["sum"] = fmt::format("{:016x}", header.body_sum);
  return render(line, as_json);
}

Result<RecoveredLog> read_whole(LogRecovery& recovery) {
  SnapshotAcceptor snapshot;
  if (const auto restored = recovery.restore(snapshot); !restored) return restored.error();
  RecordAcceptor records;
  return recovery.replay(records);
}

/// The state before a log that does not begin with LSN 1, and the LSN that it is after.
Result<Lsn> read_base(FileSystem& files, const std::string& directory, const LogWalk& walk, StateHasher& hasher) {
  if (walk.first_lsn() == Lsn(1)) return Lsn();
  const auto path = find_base_snapshot(files, directory, walk);
  if (!path) return path.error();
  auto snapshot = SnapshotReader::open(files, *path);
  if (!snapshot) return snapshot.error();
  SnapshotItems items(hasher);
  const auto read = snapshot->read(items);
  if (!read) return read.error();
  return snapshot->header().lsn;
}

/// Whether the records of a log that a start accepts make the states that its batches tell.
Result<void> compare_states(FileSystem& files, const std::string& directory, LogVerdict& verdict) {
  auto walk = LogWalk::open(files, directory);
  if (!walk) return walk.error();
  verdict.first = walk->first_lsn();
  StateHasher hasher;
  const auto base = read_base(files, directory, *walk, hasher);
  if (!base) return base.error();
  for (auto step = walk->next(); step != LogWalk::Step::end && !verdict.state_differs; step = walk->next()) {
    if (step == LogWalk::Step::segment || walk->batch().header.last_lsn() <= *base) continue;
    const BatchHeader& header = walk->batch().header;
    const auto read = read_records({walk->batch().body, header.first_lsn, header.count, *base}, hasher);
    if (!read) return read.error();
    if (hasher.state() != header.state) verdict.state_differs = header.last_lsn();
  }
  if (!verdict.state_differs) return {};
  verdict.usable = false;
  verdict.refusal =
      fmt::format("the records up to LSN {} make another state than their batch says; a server does not start from it",
                  verdict.state_differs->value());
  return {};
}

void look_for_losses(FileSystem& files, const std::string& directory, Lsn floor, LogVerdict& verdict) {
  const auto salvage = LogSalvage::scan(files, directory);
  if (!salvage) {
    verdict.no_repair = salvage.error().text();
    return;
  }
  verdict.first = salvage->base_lsn().next();
  verdict.kept = salvage->kept_through();
  verdict.known = std::max({verdict.kept, floor, salvage->known()});
}

}  // namespace

Result<void> dump_log(FileSystem& files, const DumpOptions& options, const LineSink& out) {
  auto walk = LogWalk::open(files, options.directory, options.from);
  if (!walk) return walk.error();
  RecordLines lines(options, out);
  for (auto step = walk->next(); step != LogWalk::Step::end; step = walk->next()) {
    if (step == LogWalk::Step::segment) {
      if (walk->segment().first_lsn > options.through) return {};
      if (options.frames) out(segment_line(walk->segment(), options.json));
      continue;
    }
    const FoundBatch& batch = walk->batch();
    if (batch.header.last_lsn() < options.from) continue;
    if (batch.header.first_lsn > options.through) return {};
    if (options.frames) out(batch_line(batch, options.json));
    const auto done = read_records({batch.body, batch.header.first_lsn, batch.header.count, Lsn()}, lines, &lines);
    if (!done) {
      return Error::format(done.error().code(), "{} at offset {}: {}", walk->path(), batch.offset, done.error().text());
    }
  }
  return walk->unsound() ? Result<void>(*walk->unsound()) : Result<void>();
}

Result<LogVerdict> verify_log(FileSystem& files, Clock& clock, Random& random, const std::string& directory,
                              Lsn floor) {
  LogVerdict verdict;
  LogSettings settings;
  settings.directory = directory;
  settings.require_data = true;
  settings.floor = floor;
  auto opened = LogRecovery::open(files, clock, random, settings);
  if (opened) {
    const auto replayed = read_whole(**opened);
    verdict.usable = replayed.has_value();
    if (replayed) verdict.found = *replayed;
    if (!replayed) verdict.refusal = replayed.error().text();
  } else {
    if (opened.error().code() == ErrorCode::locked || opened.error().code() == ErrorCode::not_found)
      return opened.error();
    verdict.refusal = opened.error().text();
  }
  const auto found = look_at_directory(files, directory);
  if (!found) return found.error();
  if (found->segments.empty()) return Error::format(ErrorCode::not_found, "{} holds no log", directory);
  verdict.segments = found->segments.size();
  if (!verdict.usable) {
    look_for_losses(files, directory, floor, verdict);
    return verdict;
  }
  verdict.known = verdict.kept = verdict.found.last_lsn;
  HOLDFAST_TRY(compare_states(files, directory, verdict));
  return verdict;
}

void print_verdict(const LogVerdict& verdict, bool as_json, const LineSink& out) {
  json::object line;
  line["usable"] = verdict.usable;
  line["segments"] = verdict.segments;
  line["first-lsn"] = verdict.first.value();
  line["last-lsn"] = verdict.kept.value();
  if (verdict.usable) {
    line["end"] = std::string(row_name(verdict.found.tail));
    line["dropped-bytes"] = verdict.found.dropped_bytes;
    line["state"] = fmt::format("{:016x}{:016x}", verdict.found.state.high, verdict.found.state.low);
  } else {
    line["known-lsn"] = verdict.known.value();
    line["lost"] = verdict.lost();
    line["refusal"] = verdict.refusal;
    if (!verdict.no_repair.empty()) line["no-repair"] = verdict.no_repair;
  }
  if (as_json) return out(render(line, true));
  if (verdict.usable) {
    out(fmt::format("usable: {} segments, LSN {} to {}, state {}", verdict.segments, verdict.first.value(),
                    verdict.kept.value(), std::string_view(line["state"].as_string())));
    if (verdict.found.dropped_bytes > 0) {
      out(fmt::format("{}: the next start drops {} bytes behind it, of which nothing was acknowledged",
                      row_name(verdict.found.tail), verdict.found.dropped_bytes));
    }
    return;
  }
  out(fmt::format("refused: {}", verdict.refusal));
  if (!verdict.no_repair.empty()) return out(fmt::format("no repair: {}", verdict.no_repair));
  const auto kept = verdict.kept > Lsn() ? fmt::format("LSN {} to {}", verdict.first.value(), verdict.kept.value())
                                         : std::string("nothing");
  out(fmt::format("a repair would keep {} and lose {} records, up to LSN {}", kept, verdict.lost(),
                  verdict.known.value()));
}

}  // namespace holdfast
