#include "storage/sink_registry.h"

#include "protocol/check.h"
#include "storage/log_files.h"
#include "storage/sinks_reader.h"
#include "storage/sinks_writer.h"

#include <fmt/format.h>

#include <algorithm>

namespace holdfast {
namespace {

auto place_of(std::vector<Sink>& sinks, std::string_view name) {
  return std::lower_bound(sinks.begin(), sinks.end(), name,
                          [](const Sink& sink, std::string_view wanted) { return sink.name < wanted; });
}

std::size_t parked_of_others(const std::vector<Sink>& sinks, std::string_view name) {
  std::size_t count = 0;
  for (const Sink& sink : sinks) count += sink.name == name ? 0 : sink.parked->size();
  return count;
}

}  // namespace

Error ahead_error(const Sink& sink, Lsn durable) {
  return Error::format(ErrorCode::fenced,
                       "log: sink {} acknowledged LSN {}, the log is durable up to {}: this directory was rolled back. "
                       "Replace it, or LOG SINKS DROP {} CONFIRM",
                       sink.name, sink.ahead.value(), durable.value(), sink.name);
}

Result<SinkRegistry> SinkRegistry::open(FileSystem& files, std::string directory) {
  auto read = read_sinks(files, directory);
  if (!read) {
    return Error::format(read.error().code(),
                         "{}. Restore it from a backup; or remove it: sinks then register anew, and until they do the "
                         "log is not kept for them",
                         read.error().text());
  }
  return SinkRegistry(files, std::move(directory), *read ? std::move(**read) : Sinks());
}

Lsn SinkRegistry::floor() const noexcept {
  Lsn highest;
  for (const Sink& sink : state_.sinks) highest = std::max(highest, sink.acked);
  return highest;
}

Result<void> SinkRegistry::attach(const LogIdentity& log, const std::function<void(std::string_view)>& notice) {
  const bool same = state_.log_id == log.id || state_.sinks.empty();
  if (!same && (log.forked_from_id == kNoLogId || state_.log_id != log.forked_from_id)) {
    return Error::format(ErrorCode::foreign, "{}: its sinks are those of another log", sinks_path(directory_));
  }
  if (!same) {
    std::string names;
    for (const Sink& sink : state_.sinks) names.append(names.empty() ? "" : ", ").append(sink.name);
    notice(fmt::format("the sinks of the log that this one was forked from are let go: {}", names));
    state_.sinks.clear();
  }
  state_.log_id = log.id;
  ++version_;
  return {};
}

Result<void> SinkRegistry::acknowledge(const SinkAck& ack, Lsn durable, WallTime wall, std::chrono::nanoseconds boot) {
  Sinks next = state_;
  auto sink = place_of(next.sinks, ack.sink);
  const bool fresh = sink == next.sinks.end() || sink->name != ack.sink;
  if (fresh) {
    if (next.sinks.size() >= kSinksMax) {
      return Error::format(ErrorCode::err, "{} sinks are registered already; LOG SINKS DROP one of them", kSinksMax);
    }
    sink = next.sinks.insert(sink, Sink());
    sink->name = ack.sink;
  }
  if (sink->ahead > Lsn()) return ahead_error(*sink, durable);
  sink->acked_at = wall;
  if (ack.lsn > durable) {
    sink->ahead = ack.lsn;
    const Error error = ahead_error(*sink, durable);
    HOLDFAST_TRY(replace(std::move(next), boot));
    return error;
  }
  if (ack.lsn < sink->acked) {
    return Error::format(ErrorCode::err, "sink {} has acknowledged LSN {} already, {} is below it", sink->name,
                         sink->acked.value(), ack.lsn.value());
  }
  const bool says_nothing_new = !fresh && ack.lsn == sink->acked && ack.park.empty() && ack.unpark.empty();
  if (says_nothing_new) {
    state_ = std::move(next);
    ++version_;
    return {};
  }
  auto parked = parked_after(*sink, ack, parked_of_others(state_.sinks, ack.sink));
  if (!parked) return parked.error();
  sink->acked = ack.lsn;
  sink->parked = std::move(*parked);
  return replace(std::move(next), boot);
}

Result<std::shared_ptr<const Parked>> SinkRegistry::parked_after(const Sink& sink, const SinkAck& ack,
                                                                 std::size_t others) {
  if (ack.park.empty() && ack.unpark.empty()) return sink.parked;
  auto parked = std::make_shared<Parked>(*sink.parked);
  for (const SinkAck::Park& each : ack.park) parked->insert_or_assign(each.key, each.reason);
  for (const ParkedKey& key : ack.unpark) parked->erase(key);
  if (others + parked->size() > kParkedMax) {
    return Error::format(ErrorCode::err, "more than {} would be parked; UNPARK some first", kParkedMax);
  }
  return std::shared_ptr<const Parked>(std::move(parked));
}

Result<void> SinkRegistry::drop(std::string_view name, std::chrono::nanoseconds boot) {
  Sinks next = state_;
  const auto sink = place_of(next.sinks, name);
  if (sink == next.sinks.end() || sink->name != name) {
    return Error::format(ErrorCode::err, "no sink '{}' is registered", Echo(name).text());
  }
  next.sinks.erase(sink);
  return replace(std::move(next), boot);
}

Result<void> SinkRegistry::replace(Sinks next, std::chrono::nanoseconds boot) {
  CHECK(next.log_id != kNoLogId);
  if (retry_.waiting(boot)) {
    const auto wait = std::chrono::duration_cast<Millis>(retry_.due() - boot);
    return Error::format(ErrorCode::io_failed, "the sinks could not be kept, in {} ms they may be: {}", wait.count(),
                         failure_);
  }
  if (const auto written = write_sinks(*files_, directory_, next); !written) {
    retry_.failed(boot);
    failure_ = written.error().text();
    return Error::format(written.error().code(), "the sinks could not be kept: {}", failure_);
  }
  retry_.succeeded();
  failure_.clear();
  state_ = std::move(next);
  ++version_;
  return {};
}

bool SinkRegistry::retry(std::chrono::nanoseconds boot) {
  if (failure_.empty() || retry_.waiting(boot)) return false;
  return replace(state_, boot).has_value();
}

std::chrono::nanoseconds SinkRegistry::retry_due() const noexcept {
  return failure_.empty() ? std::chrono::nanoseconds::max() : retry_.due();
}

}  // namespace holdfast
