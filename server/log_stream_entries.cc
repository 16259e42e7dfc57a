// The log in the words of Redis's streams: XREAD, XRANGE, XLEN and XINFO STREAM. Keys other than `log` are streams without
// entries.
#include "server/log_stream.h"

#include <algorithm>

namespace holdfast {
namespace {

void append_entries(const LogEntries& entries, RespVersion version, std::string& out) {
  ReplyWriter(out, version).array(entries.count());
  out.append(entries.bytes());
}

}  // namespace

LogStream::Answer LogStream::xread(Job& job, std::string& out) {
  const auto request = parse_xread(job.words);
  if (!request) return request.error();
  const RespVersion version = job.request.version;
  std::string streams;
  std::size_t found = 0;
  Lsn next(UINT64_MAX);
  for (const XreadRequest::Key& key : request->keys) {
    if (key.name != kLogKey) continue;
    const std::uint64_t after = key.after ? key.after->lsn : job.request.newest.value();
    next = std::min(next, Lsn(std::min(std::max(after, durable_.value()), UINT64_MAX - 1) + 1));
    if (after >= durable_.value() || streams.size() >= kEntryBytesMax) continue;
    const LogEntries::Range range{Lsn(after + 1), durable_, request->count, kEntryBytesMax - streams.size()};
    const auto entries = view_.entries(range, version);
    if (!entries) return entries.error();
    if (entries->count() == 0) continue;
    ReplyWriter stream(streams, version);
    if (version == RespVersion::resp2) stream.array(2);
    stream.bulk(key.name);
    append_entries(*entries, version, streams);
    ++found;
  }
  if (found == 0 && wait(job, next, request->block)) return Done::waits;
  ReplyWriter reply(out, version);
  if (found == 0) {
    reply.null_array();
  } else {
    version == RespVersion::resp2 ? reply.array(found) : reply.map(found);
    out.append(streams);
  }
  return Done::answered;
}

LogStream::Answer LogStream::xrange(Job& job, std::string& out) {
  const auto request = parse_xrange(job.words);
  if (!request) return request.error();
  const RespVersion version = job.request.version;
  const bool nothing = job.words[1] != kLogKey;
  if (!nothing && request->count == 0) {
    ReplyWriter(out, version).null_array();
    return Done::answered;
  }
  const Lsn through = nothing ? Lsn() : std::min(request->through, durable_);
  if (nothing || request->from > through) {
    ReplyWriter(out, version).array(0);
    return Done::answered;
  }
  const auto entries =
      view_.entries({request->from, through, request->count.value_or(UINT64_MAX), kEntryBytesMax}, version);
  if (!entries) return entries.error();
  append_entries(*entries, version, out);
  return Done::answered;
}

LogStream::Answer LogStream::xlen(Job& job, std::string& out) {
  std::uint64_t length = 0;
  if (job.words[1] == kLogKey) {
    const auto counted = view_.count(durable_);
    if (!counted) return counted.error();
    if (!*counted) return Done::goes_on;
    length = **counted;
  }
  ReplyWriter(out, job.request.version).integer(static_cast<std::int64_t>(length));
  return Done::answered;
}

LogStream::Answer LogStream::xinfo(Job& job, std::string& out) {
  const auto request = parse_xinfo_stream(job.words);
  if (!request) return request.error();
  if (job.words[2] != kLogKey) return Error(ErrorCode::err, "no such key");
  const auto length = view_.count(durable_);
  if (!length) return length.error();
  if (!*length) return Done::goes_on;
  HOLDFAST_TRY(write_info(*request, **length, job.request.version, out));
  return Done::answered;
}

/// As Redis, whose radix tree has at least one node; what was added is every record but the CLOCKs that are still there.
Result<void> LogStream::write_info(const XinfoRequest& request, std::uint64_t length, RespVersion version,
                                   std::string& out) {
  const auto oldest = view_.reader().oldest();
  if (!oldest) return oldest.error();
  const std::uint64_t gone = oldest->value() - 1;
  const auto first = view_.entries({*oldest, durable_, request.full ? request.count : 1, kEntryBytesMax}, version);
  if (!first) return first.error();
  ReplyWriter reply(out, version);
  const auto number = [&](std::string_view name, std::uint64_t value) {
    reply.bulk(name);
    reply.integer(static_cast<std::int64_t>(value));
  };
  const auto id = [&](std::string_view name, Lsn lsn) {
    reply.bulk(name);
    reply.bulk(entry_id(lsn));
  };
  reply.map(request.full ? 9 : 10);
  number("length", length);
  number("radix-tree-keys", length == 0 ? 0 : 1);
  number("radix-tree-nodes", length == 0 ? 1 : 2);
  id("last-generated-id", durable_);
  id("max-deleted-entry-id", Lsn(gone));
  number("entries-added", gone + length);
  id("recorded-first-entry-id", first->first());
  if (request.full) {
    reply.bulk("entries");
    append_entries(*first, version, out);
    reply.bulk("groups");
    reply.array(0);
    return {};
  }
  number("groups", 0);
  const auto last = view_.last_entry(durable_);
  if (!last) return last.error();
  const auto newest = view_.entries({*last, *last, 1, kEntryBytesMax}, version);
  if (!newest) return newest.error();
  reply.bulk("first-entry");
  first->count() == 0 ? reply.null() : static_cast<void>(out.append(first->bytes()));
  reply.bulk("last-entry");
  newest->count() == 0 ? reply.null() : static_cast<void>(out.append(newest->bytes()));
  return {};
}

}  // namespace holdfast
