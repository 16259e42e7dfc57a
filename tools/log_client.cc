#include "tools/log_client.h"

#include "storage/segment_reader.h"
#include "tools/backup_directory.h"

#include <fmt/format.h>

namespace holdfast {
namespace {

using segment_format::kBatchHeaderBytes;
using segment_format::padded_bytes;

constexpr std::uint64_t kBytesAtOnce = 4_MiB;

Error unsound(Lsn lsn, std::string_view what) {
  return Error::format(ErrorCode::damaged, "the server's answer to LOG READ {} is not sound: {}", lsn.value(), what);
}

}  // namespace

Result<Reply> LogClient::ask(const std::vector<std::string>& words) {
  auto reply = client_.ask(words);
  if (!reply) return reply.error();
  if (reply->is_error()) return Error::format(ErrorCode::err, "the server says: {}", Echo(reply->text).text());
  return reply;
}

Result<void> LogClient::look() {
  const auto reply = ask({"LOG", "SINKS"});
  if (!reply) return reply.error();
  const Reply* const id = reply->find("log_id");
  const Reply* const oldest = reply->find("oldest_lsn");
  const Reply* const durable = reply->find("durable_lsn");
  const auto log = id == nullptr ? std::nullopt : log_id_of(id->text);
  if (!log || oldest == nullptr || durable == nullptr) {
    return Error(ErrorCode::damaged, "the server's answer to LOG SINKS does not say which log it has");
  }
  log_ = *log;
  oldest_ = Lsn(static_cast<std::uint64_t>(oldest->integer));
  durable_ = Lsn(static_cast<std::uint64_t>(durable->integer));
  return {};
}

Result<Reply> LogClient::ask_for_part(const std::vector<std::string>& words) {
  auto reply = ask(words);
  if (!reply) return reply.error();
  const auto log = reply->items.size() == 4 ? log_id_of(reply->items[0].text) : std::nullopt;
  if (!log) return Error::format(ErrorCode::damaged, "the server's answer to {} {} is none", words[0], words[1]);
  if (*log != log_) return Error(ErrorCode::foreign, "the server has another log now");
  return reply;
}

Result<void> LogClient::read(Lsn from, const OnBatch& on_batch) {
  sum_known_ = false;
  for (Lsn next = from; next <= durable_;) {
    const auto reply =
        ask_for_part({"LOG", "READ", std::to_string(next.value()), "MAXBYTES", std::to_string(kBytesAtOnce)});
    if (!reply) return reply.error();
    const auto taken = take_batches(reply->items[3].text, next, on_batch);
    if (!taken) return taken.error();
    if (*taken == Lsn()) return {};
    if (*taken == next) return unsound(next, "it is empty");
    next = *taken;
  }
  return {};
}

Result<Lsn> LogClient::take_batches(std::string_view bytes, Lsn next, const OnBatch& on_batch) {
  while (!bytes.empty()) {
    const auto rest = std::as_bytes(std::span(bytes));
    const auto header = read_batch_header(rest);
    if (!header) return unsound(next, "no batch header where one should be");
    const std::uint64_t size = padded_bytes(header->body_bytes);
    if (size > bytes.size()) return unsound(next, "a batch is cut off");
    const auto padded = rest.subspan(kBatchHeaderBytes, size - kBatchHeaderBytes);
    if (!body_is_sound(*header, padded)) return unsound(next, "a batch is damaged");
    // The first one may begin before what was asked for.
    const bool follows = sum_known_ ? header->first_lsn == next && header->previous_sum == sum_
                                    : header->first_lsn <= next && header->last_lsn() >= next;
    if (header->count == 0 || !follows) {
      return unsound(next, fmt::format("a batch of LSN {} does not follow", header->first_lsn.value()));
    }
    const auto wanted = on_batch(*header, padded.first(header->body_bytes));
    if (!wanted) return wanted.error();
    if (!*wanted) return Lsn();
    sum_ = header->body_sum;
    sum_known_ = true;
    next = header->last_lsn().next();
    bytes.remove_prefix(size);
  }
  return next;
}

Result<Lsn> LogClient::read_snapshot(const OnBytes& on_bytes) {
  Lsn lsn;
  std::uint64_t offset = 0;
  std::uint64_t total = 0;
  do {
    const auto reply = ask_for_part({"LOG", "SNAPSHOT", std::to_string(lsn.value()), std::to_string(offset), "MAXBYTES",
                                     std::to_string(kBytesAtOnce)});
    if (!reply) return reply.error();
    lsn = Lsn(static_cast<std::uint64_t>(reply->items[1].integer));
    total = static_cast<std::uint64_t>(reply->items[2].integer);
    const std::string& bytes = reply->items[3].text;
    if (bytes.empty() && offset < total)
      return Error(ErrorCode::damaged, "the server's answer to LOG SNAPSHOT is empty");
    HOLDFAST_TRY(on_bytes(offset, std::as_bytes(std::span(bytes))));
    offset += bytes.size();
  } while (offset < total);
  return lsn;
}

Result<void> LogClient::hold_snapshot(Lsn lsn) {
  HOLDFAST_TRY(ask_for_part({"LOG", "SNAPSHOT", std::to_string(lsn.value()), "0", "MAXBYTES", "1"}));
  return {};
}

}  // namespace holdfast
