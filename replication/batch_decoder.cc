#include "replication/batch_decoder.h"

#include "protocol/check.h"
#include "storage/record_reader.h"
#include "storage/segment_reader.h"

#include <algorithm>

namespace holdfast {
namespace {

using segment_format::kBatchHeaderBytes;
using segment_format::padded_bytes;

Error damaged_after(Lsn lsn, std::string_view what) {
  return Error::format(ErrorCode::damaged, "the log after LSN {}: {}", lsn.value(), what);
}

/// Makes events of records until there are enough, and keeps the directory up to date with them.
class EventMaker final : public RecordVisitor {
 public:
  EventMaker(SinkItems& items, EventBatch& out, std::size_t events_max) noexcept
      : items_(items), out_(out), events_max_(events_max) {}

  Result<void> on_item(const RecordStamp& stamp, const ItemRecord& record) override {
    if (!has_room(stamp)) return {};
    auto facts = facts_of(stamp, record);
    items_.put(facts);
    out_.events.push_back(event_of(stamp, record, std::move(facts)));
    return {};
  }

  Result<void> on_reservation(const RecordStamp& stamp, const ReservationRecord& record) override {
    if (!has_room(stamp)) return {};
    auto item = items_.find(stamp.item);
    if (item == nullptr) {
      return Error::format(ErrorCode::damaged,
                           "LSN {} is of item number {}, which nothing before it has named to the sink",
                           stamp.lsn.value(), stamp.item.value());
    }
    out_.events.push_back(event_of(stamp, record, std::move(item)));
    return {};
  }

  Result<void> on_forget(const RecordStamp&, const ForgetRecord&) override { return {}; }
  Result<void> on_default_returns(const RecordStamp&, const DefaultReturnsRecord&) override { return {}; }

  /// The LSN before the first record that found no room; nothing when all did.
  std::optional<Lsn> stopped_at() const noexcept { return stopped_at_; }

 private:
  bool has_room(const RecordStamp& stamp) noexcept {
    if (stopped_at_) return false;
    if (out_.events.size() < events_max_) return true;
    stopped_at_ = Lsn(stamp.lsn.value() - 1);
    return false;
  }

  SinkItems& items_;
  EventBatch& out_;
  std::size_t events_max_;
  std::optional<Lsn> stopped_at_;
};

}  // namespace

BatchDecoder::BatchDecoder(const Cursor& cursor, SinkItems items)
    : log_tag_(log_tag(cursor.log)), cursor_(cursor.lsn), items_(std::move(items)) {
  CHECK(is_log(cursor.log));
}

void BatchDecoder::feed(std::string batches) {
  CHECK(done());
  fed_ = std::move(batches);
  at_ = 0;
}

Result<BatchHeader> BatchDecoder::check_batch(std::span<const std::byte> rest) const {
  const Lsn before = std::max(cursor_, last_lsn_);
  const auto header = read_batch_header(rest);
  if (!header) return damaged_after(before, "no batch begins where one should");
  if (!known_batch_format(rest)) {
    return Error::format(ErrorCode::unsupported, "the log after LSN {} needs a newer Holdfast", before.value());
  }
  if (header->log_tag != log_tag_) {
    return Error::format(ErrorCode::foreign, "the batch at LSN {} is of another log", header->first_lsn.value());
  }
  if (header->count == 0 || header->last_lsn() < header->first_lsn) return damaged_after(before, "an impossible batch");
  const bool follows = last_lsn_ > Lsn() ? header->first_lsn == last_lsn_.next()
                                         : header->first_lsn <= cursor_.next() && header->last_lsn() > cursor_;
  if (!follows) {
    return Error::format(ErrorCode::damaged, "LSN {} should come next, and {} to {} came", before.value() + 1,
                         header->first_lsn.value(), header->last_lsn().value());
  }
  if (last_lsn_ > Lsn() && header->previous_sum != last_sum_) {
    return damaged_after(before, "the next batch does not continue the one before it");
  }
  const std::uint64_t bytes = padded_bytes(header->body_bytes);
  if (bytes > rest.size()) return damaged_after(before, "a batch is cut off");
  if (!body_is_sound(*header, rest.subspan(kBatchHeaderBytes, bytes - kBatchHeaderBytes))) {
    return damaged_after(before, "the sum of a batch is wrong");
  }
  return *header;
}

Result<EventBatch> BatchDecoder::next(std::size_t events_max) {
  CHECK(events_max > 0);
  EventBatch batch;
  batch.through = cursor_;
  while (!done()) {
    const auto rest = std::as_bytes(std::span(fed_)).subspan(at_);
    if (!checked_) {
      const auto header = check_batch(rest);
      if (!header) return header.error();
      header_ = *header;
      checked_ = true;
    }
    EventMaker maker(items_, batch, events_max);
    const BatchBody body{rest.subspan(kBatchHeaderBytes, header_.body_bytes), header_.first_lsn, header_.count,
                         cursor_};
    const auto read = read_records(body, maker);
    if (!read) {
      return Error::format(read.error().code(), "the batch at LSN {}: {}", header_.first_lsn.value(),
                           read.error().text());
    }
    cursor_ = batch.through = maker.stopped_at().value_or(header_.last_lsn());
    if (maker.stopped_at()) break;
    last_lsn_ = header_.last_lsn();
    last_sum_ = header_.body_sum;
    at_ += padded_bytes(header_.body_bytes);
    checked_ = false;
  }
  return batch;
}

}  // namespace holdfast
