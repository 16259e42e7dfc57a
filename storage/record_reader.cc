#include "storage/record_reader.h"

#include "storage/byte_codec.h"
#include "storage/record_format.h"
#include "storage/record_parts.h"

namespace holdfast {
namespace {

using namespace record_format;

struct RawRecord {
  std::uint8_t type = 0;
  std::uint8_t flags = 0;
  std::uint16_t offset_ms = 0;
  std::span<const std::byte> payload;
};

/// Nothing when the bytes do not begin with a whole record.
bool split(std::span<const std::byte>& rest, RawRecord& record) noexcept {
  if (rest.size() < kHeaderBytes) return false;
  const auto length = load<std::uint16_t>(rest, 0);
  if (length < kHeaderBytes || length > rest.size()) return false;
  record.type = load<std::uint8_t>(rest, 2);
  record.flags = load<std::uint8_t>(rest, 3);
  record.offset_ms = load<std::uint16_t>(rest, 4);
  record.payload = rest.subspan(kHeaderBytes, length - kHeaderBytes);
  rest = rest.subspan(length);
  return true;
}

/// Modulo 2^64: times come from the file and may be anything.
std::int64_t add(std::int64_t a, std::int64_t b) noexcept {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

/// Reads one batch; a member per family of records.
class BodyReader {
 public:
  BodyReader(const BatchBody& body, RecordVisitor& visitor, RecordExtras* extras) noexcept
      : body_(body), visitor_(visitor), extras_(extras) {}

  Result<BodySummary> run();

 private:
  Result<void> read(const RawRecord& raw);
  Result<void> read_clock(const RawRecord& raw);
  Result<void> read_item(const RawRecord& raw);
  Result<void> read_reservation(const RawRecord& raw);
  Result<void> read_forget(const RawRecord& raw);
  Result<void> read_default_returns(const RawRecord& raw);
  bool take_change(ByteReader& in) noexcept;
  /// Whether the visitor wants this record; counts it.
  bool wanted() noexcept;
  static Error malformed() { return {ErrorCode::damaged, "its bytes are no record of this type"}; }
  static Error unknown_flags() { return {ErrorCode::unsupported, "it has flags that this version does not know"}; }

  const BatchBody& body_;
  RecordVisitor& visitor_;
  RecordExtras* extras_;
  RecordStamp stamp_;
  HoldTime clock_hold_{};
  WallTime clock_wall_{};
  bool has_clock_ = false;
  BodySummary summary_;
  ItemRecord item_;  // kept, so that its texts' memory is
};

Result<BodySummary> BodyReader::run() {
  auto rest = body_.bytes;
  RawRecord raw;
  for (std::uint32_t index = 0; index < body_.count; ++index) {
    if (!split(rest, raw)) return Error::format(ErrorCode::damaged, "record {} is cut off", index);
    stamp_ = RecordStamp{};
    stamp_.lsn = Lsn(body_.first_lsn.value() + index);
    if (auto done = read(raw); !done) {
      return Error::format(done.error().code(), "record {} (LSN {}, type 0x{:02x}): {}", index, stamp_.lsn.value(),
                           raw.type, done.error().text());
    }
  }
  if (!rest.empty()) return Error::format(ErrorCode::damaged, "bytes follow the last of {} records", body_.count);
  return summary_;
}

Result<void> BodyReader::read(const RawRecord& raw) {
  if (raw.type == kClock) return read_clock(raw);
  if (!has_clock_) return Error(ErrorCode::damaged, "no CLOCK record before it");
  stamp_.hold = hold_time(add(to_ms(clock_hold_), raw.offset_ms));
  stamp_.wall = wall_time(add(to_ms(clock_wall_), raw.offset_ms));
  summary_.wall_max = std::max(summary_.wall_max, stamp_.wall);
  if (raw.type == kForget) return read_forget(raw);
  if (raw.type == kDefaultReturns) return read_default_returns(raw);
  const unsigned event = raw.type & kEventMask;
  const unsigned family = raw.type - event;
  if (family == kItem && event >= 1 && event <= kItemEventMax) return read_item(raw);
  if (family == kReservation && event >= 1 && event <= kReservationEventMax) return read_reservation(raw);
  if ((raw.type & kIgnorable) == 0) return Error(ErrorCode::unsupported, "a type that this version does not know");
  if (extras_ != nullptr) extras_->on_unknown(stamp_, raw.type, raw.payload.size());
  return {};
}

Result<void> BodyReader::read_clock(const RawRecord& raw) {
  ByteReader in(raw.payload);
  clock_hold_ = hold_time(in.fixed<std::int64_t>());
  clock_wall_ = wall_time(in.fixed<std::int64_t>());
  if (!in.ok() || !in.at_end() || raw.offset_ms != 0) return malformed();
  if (raw.flags != 0) return unknown_flags();
  has_clock_ = true;
  stamp_.hold = clock_hold_;
  stamp_.wall = clock_wall_;
  summary_.wall_max = std::max(summary_.wall_max, stamp_.wall);
  if (extras_ != nullptr && stamp_.lsn > body_.skip_through) extras_->on_clock(stamp_);
  return {};
}

Result<void> BodyReader::read_item(const RawRecord& raw) {
  if ((raw.flags & ~kItemFlags) != 0) return unknown_flags();
  ByteReader in(raw.payload);
  item_.event = static_cast<ItemEvent>(raw.type & kEventMask);
  item_.by_window = (raw.flags & kByWindow) != 0;
  item_.returns_held = (raw.flags & kReturnsHeld) != 0;
  item_.fenced = (raw.flags & kFenced) != 0;
  item_.definition.scope = (raw.flags & kScopeSale) != 0 ? LimitScope::sale : LimitScope::item;
  const bool change = take_change(in);
  item_.version = ItemVersion(in.number());
  item_.state = static_cast<ItemState>(in.fixed<std::uint8_t>());
  item_.after = take_counters(in);
  item_.total = in.integer();
  item_.delta = in.integer();
  item_.name = in.text(kItemNameBytesMax);
  take_definition(in, item_.definition);
  const bool adjust = item_.event == ItemEvent::adjust;
  item_.adjust_id = adjust ? take_id(in) : ReservationId();
  item_.reason = adjust ? in.text(kReasonBytesMax) : std::string_view();
  const bool version_fits = item_.version.value() >= 1 && item_.version.value() <= INT64_MAX;
  if (!in.ok() || !in.at_end() || !change || item_.name.empty() || !version_fits || item_.state > ItemState::closed) {
    return malformed();
  }
  return wanted() ? visitor_.on_item(stamp_, item_) : Result<void>();
}

Result<void> BodyReader::read_reservation(const RawRecord& raw) {
  if ((raw.flags & ~kReservationFlags) != 0) return unknown_flags();
  ByteReader in(raw.payload);
  ReservationRecord record;
  record.event = static_cast<ReservationEvent>(raw.type & kEventMask);
  record.exclusive = (raw.flags & kExclusive) != 0;
  record.write_off = (raw.flags & kWriteOff) != 0;
  const bool change = take_change(in);
  record.id = take_id(in);
  const bool user = take_user(in, raw.flags >> kUserKindShift, record.user);
  const std::uint64_t quantity = in.number();
  if ((raw.flags & kHasDeadline) != 0) record.deadline = hold_time(add(to_ms(stamp_.hold), in.integer()));
  record.after = take_counters(in);
  if (!in.ok() || !in.at_end() || !change || !user || quantity > static_cast<std::uint64_t>(kStockMax)) {
    return malformed();
  }
  record.quantity = Quantity(static_cast<std::int64_t>(quantity));
  return wanted() ? visitor_.on_reservation(stamp_, record) : Result<void>();
}

Result<void> BodyReader::read_forget(const RawRecord& raw) {
  if (raw.flags != 0) return unknown_flags();
  ByteReader in(raw.payload);
  stamp_.item = ItemNumber(in.number());
  const std::uint64_t through = in.number();
  const std::uint64_t count = in.number();
  if (!in.ok() || !in.at_end() || stamp_.item.value() == 0 || through > kSequenceMax || count > kForgetCountMax) {
    return malformed();
  }
  const ForgetRecord record{Sequence(through), static_cast<std::uint32_t>(count)};
  return wanted() ? visitor_.on_forget(stamp_, record) : Result<void>();
}

Result<void> BodyReader::read_default_returns(const RawRecord& raw) {
  if ((raw.flags & ~kDefaultHeld) != 0) return unknown_flags();
  if (!raw.payload.empty()) return malformed();
  return wanted() ? visitor_.on_default_returns(stamp_, {raw.flags != 0}) : Result<void>();
}

bool BodyReader::take_change(ByteReader& in) noexcept {
  stamp_.item = ItemNumber(in.number());
  stamp_.sequence = Sequence(in.number());
  return stamp_.item.value() != 0 && stamp_.sequence.value() >= 1 && stamp_.sequence.value() <= kSequenceMax;
}

bool BodyReader::wanted() noexcept {
  if (stamp_.lsn <= body_.skip_through) return false;
  ++summary_.visited;
  return true;
}

/// The stamps of a body's records, whatever they are.
class StampReader {
 public:
  explicit StampReader(std::span<const std::byte> bytes) noexcept : bytes_(bytes.size()), rest_(bytes) {}

  /// The next record; its stamp, and whether it is no part of the step before it.
  bool next() noexcept {
    offset_ = bytes_ - rest_.size();
    RawRecord raw;
    if (!split(rest_, raw)) return false;
    const bool clock = raw.type == kClock;
    if (clock) {
      ByteReader in(raw.payload);
      in.fixed<std::int64_t>();  // the hold clock, which the offset moves as well
      wall_ = in.fixed<std::int64_t>();
    }
    const std::int64_t before = now_;
    now_ = add(wall_, raw.offset_ms);
    begins_step_ = clock || now_ != before;
    return true;
  }
  std::size_t offset() const noexcept { return offset_; }
  WallTime wall() const noexcept { return wall_time(now_); }
  bool begins_step() const noexcept { return begins_step_; }

 private:
  std::size_t bytes_;
  std::span<const std::byte> rest_;
  std::size_t offset_ = 0;
  std::int64_t wall_ = 0;
  std::int64_t now_ = 0;
  bool begins_step_ = false;
};

}  // namespace

LeadingRecords leading_steps(const BatchBody& body, Lsn through, WallTime until) {
  LeadingRecords leading;
  StampReader stamps(body.bytes);
  for (std::uint32_t index = 0; index < body.count && stamps.next(); ++index) {
    if (stamps.begins_step()) leading = {index, stamps.offset()};
    if (body.first_lsn.value() + index > through.value() || stamps.wall() > until) return leading;
  }
  return {body.count, body.bytes.size()};
}

RecordCount count_records(std::span<const std::byte> bytes) noexcept {
  RecordCount count;
  for (RawRecord raw; split(bytes, raw);) {
    ++count.records;
    const bool clock = raw.type == kClock;
    count.clocks += clock ? 1 : 0;
    count.after_last = clock ? count.after_last + 1 : 0;
    count.items |= (raw.type & ~kEventMask) == kItem;
  }
  return count;
}

Result<BodySummary> read_records(const BatchBody& body, RecordVisitor& visitor, RecordExtras* extras) {
  return BodyReader(body, visitor, extras).run();
}

}  // namespace holdfast
