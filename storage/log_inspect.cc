#include "storage/log_inspect.h"

#include "storage/log_files.h"
#include "storage/mark_reader.h"
#include "storage/record_lines.h"
#include "storage/recovery_tail.h"

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

/// A segment's file with its header.
struct OpenSegment {
  FileWindow window;
  SegmentHeader header;
};

Result<OpenSegment> open_segment(FileSystem& files, const std::string& path) {
  auto window = FileWindow::open(files, path, OpenMode::read);
  if (!window) return window.error();
  const auto block = window->view(0, kBlockBytes);
  if (!block) return block.error();
  const auto header = read_segment_header(*block);
  if (!header) return Error::format(header.error().code(), "{}: {}", path, header.error().text());
  return OpenSegment{std::move(*window), *header};
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
  if (header.log.forked_from_lsn > Lsn()) {
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

/// Lists one segment, up to where its successor says that it ends.
Result<void> dump_segment(OpenSegment& segment, const SegmentEnd* pinned, const DumpOptions& options,
                          const LineSink& out) {
  RecordLines lines(options, out);
  SegmentReader reader(segment.window, segment.header);
  if (options.frames) out(segment_line(segment.header, options.json));
  while (pinned == nullptr || reader.end() != *pinned) {
    const auto found = reader.next();
    if (!found) return found.error();
    if (found->finding != BatchFinding::valid) {
      const bool end_of_log =
          pinned == nullptr && (found->finding == BatchFinding::zeros || found->finding == BatchFinding::file_ends);
      if (end_of_log) return {};
      return Error::format(ErrorCode::damaged, "{} at offset {}: {}", segment.window.path(), found->offset,
                           finding_name(found->finding));
    }
    if (found->header.last_lsn() < options.from) continue;
    if (found->header.first_lsn > options.through) return {};
    if (options.frames) out(batch_line(*found, options.json));
    const auto done = read_records({found->body, found->header.first_lsn, found->header.count, Lsn()}, lines, &lines);
    if (!done) {
      return Error::format(done.error().code(), "{} at offset {}: {}", segment.window.path(), found->offset,
                           done.error().text());
    }
  }
  return {};
}

Result<LogFiles> find_log(FileSystem& files, const std::string& directory) {
  auto found = look_at_directory(files, directory);
  if (!found) return found.error();
  if (found->segments.empty()) return Error::format(ErrorCode::not_found, "{} holds no log", directory);
  return found;
}

/// The highest LSN that the file mentions in a sound header, wherever it lies.
Result<Lsn> highest_lsn(FileWindow& window) {
  Lsn highest;
  for (std::uint64_t at = 0; at < window.size(); at += kBlockBytes) {
    const auto block = window.view(at, kBlockBytes);
    if (!block) return block.error();
    const auto segment = at == 0 ? read_segment_header(*block) : Result<SegmentHeader>(Error());
    if (segment) highest = std::max(highest, segment->predecessor.last_lsn);
    if (const auto batch = read_batch_header(*block)) highest = std::max(highest, batch->last_lsn());
  }
  return highest;
}

/// Counts nothing, accepts everything.
class Acceptor final : public RecordVisitor {
 public:
  Result<void> on_item(const RecordStamp&, const ItemRecord&) override { return {}; }
  Result<void> on_reservation(const RecordStamp&, const ReservationRecord&) override { return {}; }
  Result<void> on_forget(const RecordStamp&, const ForgetRecord&) override { return {}; }
  Result<void> on_default_returns(const RecordStamp&, const DefaultReturnsRecord&) override { return {}; }
};

Result<RecoveredLog> read_whole(LogRecovery& recovery) {
  SnapshotAcceptor snapshot;
  if (const auto restored = recovery.restore(snapshot); !restored) return restored.error();
  Acceptor records;
  return recovery.replay(records);
}

/// How far the log is sound from its beginning, whatever its end must be.
Result<Lsn> sound_through(FileSystem& files, const std::string& directory, const std::vector<std::uint64_t>& numbers) {
  Lsn sound;
  std::optional<SegmentEnd> before;
  for (const std::uint64_t number : numbers) {
    auto segment = open_segment(files, segment_path(directory, number));
    if (!segment || segment->header.number != number) break;
    if (before && segment->header.predecessor != *before) break;
    SegmentReader reader(segment->window, segment->header);
    Acceptor acceptor;
    for (;;) {
      const auto found = reader.next();
      if (!found || found->finding != BatchFinding::valid) break;
      if (!read_records({found->body, found->header.first_lsn, found->header.count, Lsn()}, acceptor)) return sound;
      sound = found->header.last_lsn();
    }
    before = reader.end();
  }
  return sound;
}

Result<void> look_for_losses(FileSystem& files, const std::string& directory, Lsn floor, LogVerdict& verdict) {
  const auto found = find_log(files, directory);
  if (!found) return found.error();
  verdict.segments = found->segments.size();
  const auto sound = sound_through(files, directory, found->segments);
  if (!sound) return sound.error();
  verdict.kept = *sound;
  verdict.known = std::max(*sound, floor);
  for (const std::uint64_t number : found->segments) {
    auto window = FileWindow::open(files, segment_path(directory, number), OpenMode::read);
    if (!window) return window.error();
    const auto highest = highest_lsn(*window);
    if (highest) verdict.known = std::max(verdict.known, *highest);
  }
  const auto mark = read_mark(files, mark_path(directory));
  if (mark && *mark) verdict.known = std::max(verdict.known, (*mark)->durable_lsn);
  return {};
}

}  // namespace

Result<void> dump_log(FileSystem& files, const DumpOptions& options, const LineSink& out) {
  const auto found = find_log(files, options.directory);
  if (!found) return found.error();
  auto segment = open_segment(files, segment_path(options.directory, found->segments.front()));
  if (!segment) return segment.error();
  for (std::size_t index = 0; index < found->segments.size(); ++index) {
    const bool last = index + 1 == found->segments.size();
    auto next = last ? Result<OpenSegment>(Error())
                     : open_segment(files, segment_path(options.directory, found->segments[index + 1]));
    // The one after the live segment is prepared and has no header.
    const bool pinned = next.has_value();
    if (!last && !pinned && index + 2 != found->segments.size()) return next.error();
    const bool wanted = !pinned || next->header.first_lsn > options.from;
    if (wanted) HOLDFAST_TRY(dump_segment(*segment, pinned ? &next->header.predecessor : nullptr, options, out));
    if (!pinned || next->header.first_lsn > options.through) return {};
    segment = std::move(next);
  }
  return {};
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
  HOLDFAST_TRY(look_for_losses(files, directory, floor, verdict));
  if (verdict.usable) verdict.known = verdict.kept = verdict.found.last_lsn;
  return verdict;
}

void print_verdict(const LogVerdict& verdict, bool as_json, const LineSink& out) {
  json::object line;
  line["usable"] = verdict.usable;
  line["segments"] = verdict.segments;
  line["last-lsn"] = verdict.kept.value();
  if (verdict.usable) {
    line["end"] = std::string(row_name(verdict.found.tail));
    line["dropped-bytes"] = verdict.found.dropped_bytes;
    line["state"] = fmt::format("{:016x}{:016x}", verdict.found.state.high, verdict.found.state.low);
  } else {
    line["known-lsn"] = verdict.known.value();
    line["lost"] = verdict.lost();
    line["refusal"] = verdict.refusal;
  }
  if (as_json) return out(render(line, true));
  if (verdict.usable) {
    out(fmt::format("usable: {} segments, LSN 1 to {}, state {}", verdict.segments, verdict.kept.value(),
                    std::string_view(line["state"].as_string())));
    if (verdict.found.dropped_bytes > 0) {
      out(fmt::format("{}: the next start drops {} bytes behind it, of which nothing was acknowledged",
                      row_name(verdict.found.tail), verdict.found.dropped_bytes));
    }
    return;
  }
  out(fmt::format("refused: {}", verdict.refusal));
  out(fmt::format("a repair would keep LSN 1 to {} and lose {} records, up to LSN {}", verdict.kept.value(),
                  verdict.lost(), verdict.known.value()));
}

}  // namespace holdfast
