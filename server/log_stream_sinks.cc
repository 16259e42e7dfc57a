// Sinks: LOG ACK and LOG SINKS, what shards are told of them, and whether too much of the log is kept.
#include "server/log_stream.h"
#include "server/sink_requests.h"
#include "storage/log_retention.h"

#include <fmt/format.h>

#include <algorithm>

namespace holdfast {

LogStream::Answer LogStream::log_ack(Job& job, std::string& out) {
  const auto ack = parse_log_ack(job.words);
  if (!ack) return ack.error();
  const std::uint64_t before = sinks_.version();
  const auto kept = sinks_.acknowledge(*ack, durable_, wall_, boot());
  if (sinks_.version() != before) make_board();
  if (!kept) return kept.error();
  ReplyWriter(out, job.request.version).status("OK");
  return Done::answered;
}

LogStream::Answer LogStream::log_sinks(Job& job, std::string& out) {
  const auto dropped = parse_log_sinks(job.words);
  if (!dropped) return dropped.error();
  if (*dropped) {
    HOLDFAST_TRY(sinks_.drop(**dropped, boot()));
    make_board();
    ReplyWriter(out, job.request.version).status("OK");
    return Done::answered;
  }
  const auto oldest = view_.reader().oldest();
  if (!oldest) return oldest.error();
  write_sinks(*oldest, job.request.version, out);
  return Done::answered;
}

void LogStream::write_sinks(Lsn oldest, RespVersion version, std::string& out) {
  make_board();  // for the lags of now
  ReplyWriter reply(out, version);
  const auto number = [&](std::string_view name, std::uint64_t value) {
    reply.bulk(name);
    reply.integer(static_cast<std::int64_t>(value));
  };
  const auto text = [&](std::string_view name, std::string_view value) {
    reply.bulk(name);
    reply.bulk(value);
  };
  reply.map(6);
  text("log_id", log_id_text(log_.id));
  text("forked_from_log_id", log_.forked_from_id == kNoLogId ? std::string() : log_id_text(log_.forked_from_id));
  number("forked_from_lsn", log_.forked_from_lsn.value());
  number("oldest_lsn", oldest.value());
  number("durable_lsn", durable_.value());
  reply.bulk("sinks");
  reply.array(board_->sinks.size());
  for (const SinkBoard::Entry& sink : board_->sinks) {
    reply.map(7);
    text("name", sink.name);
    number("lsn", sink.acked.value());
    number("lag_records", durable_.value() - std::min(durable_, sink.acked).value());
    number("lag_bytes", sink.lag_bytes);
    number("parked", sink.parked->size());
    number("age_ms", static_cast<std::uint64_t>(std::max<std::int64_t>(0, (wall_ - sink.acked_at).count())));
    number("ahead_lsn", sink.ahead.value());
  }
}

void LogStream::make_board() {
  auto board = std::make_shared<SinkBoard>();
  board->held_bytes_max = settings_.log_bytes_max;
  static_cast<void>(view_.reader().refresh());  // when the directory cannot be read, by the segments known before
  for (const Sink& sink : sinks_.sinks()) {
    const LogView::Lag lag = view_.lag(sink.acked, durable_, live_bytes_);
    board->sinks.push_back({sink.name, sink.acked, sink.ahead, sink.acked_at, lag.bytes, sink.parked});
    board->held_bytes = std::max(board->held_bytes, lag.file_bytes);
    if (sink.ahead > Lsn()) board->fenced = ahead_error(sink, durable_).text();
  }
  std::string advice;
  if (const SinkBoard::Entry* slowest = board->slowest()) {
    board->holder = fmt::format("sink {} has acknowledged LSN {}", slowest->name, slowest->acked.value());
    advice = fmt::format("it has to go on, or LOG SINKS DROP {} CONFIRM", slowest->name);
  }
  // When the newest has everything, the next can only be made, and is, once something is written.
  const bool wanted = covered_ && covered_->newest < durable_;
  const LogView::Lag behind = wanted ? view_.lag(covered_->older, durable_, live_bytes_) : LogView::Lag();
  if (behind.file_bytes > board->held_bytes) {
    board->held_bytes = behind.file_bytes;
    board->holder = fmt::format("the older of two snapshots has LSN {}", covered_->older.value());
    advice = "another has to be made, which goes on by itself; if it fails, the alarm snapshot says why";
  }
  if (retention_level(board->held_bytes, board->held_bytes_max) == RetentionLevel::full) {
    board->overloaded = fmt::format("{} and keeps {} bytes of the log, log-max-bytes is {}; {}", board->holder,
                                    board->held_bytes, board->held_bytes_max, advice);
  }
  board_ = std::move(board);
  board_is_new_ = true;
}

void LogStream::look() {
  static_cast<void>(view_.learn(durable_));
  if (covered_ || !sinks_.sinks().empty()) make_board();
}

std::optional<Lsn> LogStream::sinks_hold() const noexcept {
  const SinkBoard::Entry* slowest = board_->slowest();
  return slowest == nullptr ? std::nullopt : std::optional<Lsn>(slowest->acked);
}

}  // namespace holdfast
