#include "storage/record_writer.h"

#include "protocol/check.h"
#include "storage/byte_codec.h"
#include "storage/record_format.h"
#include "storage/record_parts.h"

#include <array>

namespace holdfast {
namespace {

using namespace record_format;

/// A record under construction on the stack; append() puts it into the buffer with its length.
class Draft {
 public:
  Draft(std::uint8_t type, unsigned flags, std::uint16_t offset_ms) noexcept {
    out = ByteWriter(bytes_.data());
    out.fixed(std::uint16_t{0});
    out.fixed(type);
    out.fixed(static_cast<std::uint8_t>(flags));
    out.fixed(offset_ms);
  }
  Draft(const Draft&) = delete;
  Draft& operator=(const Draft&) = delete;

  void append(std::vector<std::byte>& to) {
    const std::size_t size = out.size();
    CHECK(size <= kRecordBytesMax);
    store(std::span(bytes_), 0, static_cast<std::uint16_t>(size));
    to.insert(to.end(), bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(size));
  }

  ByteWriter out{nullptr};

 private:
  std::array<std::byte, kRecordBytesMax> bytes_;
};

unsigned flags_of(const ItemRecord& record) noexcept {
  return (record.by_window ? kByWindow : 0U) | (record.returns_held ? kReturnsHeld : 0U) |
         (record.fenced ? kFenced : 0U) | (record.definition.scope == LimitScope::sale ? kScopeSale : 0U);
}

unsigned flags_of(const ReservationRecord& record) noexcept {
  return (record.exclusive ? kExclusive : 0U) | (record.write_off ? kWriteOff : 0U) |
         (record.deadline ? kHasDeadline : 0U) | static_cast<unsigned>(record.user.kind()) << kUserKindShift;
}

/// The difference modulo 2^64, so that any two values survive.
std::int64_t difference(HoldTime later, HoldTime earlier) noexcept {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(to_ms(later)) -
                                   static_cast<std::uint64_t>(to_ms(earlier)));
}

}  // namespace

void write_clock(std::vector<std::byte>& out, HoldTime hold, WallTime wall) {
  Draft draft(kClock, 0, 0);
  draft.out.fixed(to_ms(hold));
  draft.out.fixed(to_ms(wall));
  draft.append(out);
}

void write_item(std::vector<std::byte>& out, std::uint16_t offset_ms, const RecordStamp& stamp,
                const ItemRecord& record) {
  const ItemDefinition& definition = record.definition;
  CHECK(!record.name.empty() && record.name.size() <= kItemNameBytesMax);
  CHECK(definition.currency.size() <= kCurrencyBytesMax && record.reason.size() <= kReasonBytesMax);
  CHECK(definition.sale.size() <= kLabelBytesMax && definition.product.size() <= kLabelBytesMax);
  Draft draft(static_cast<std::uint8_t>(kItem + static_cast<std::uint8_t>(record.event)), flags_of(record), offset_ms);
  draft.out.number(stamp.item.value());
  draft.out.number(stamp.sequence.value());
  draft.out.number(record.version.value());
  draft.out.fixed(record.state);
  put_counters(draft.out, record.after);
  draft.out.integer(record.total);
  draft.out.integer(record.delta);
  draft.out.text(record.name);
  put_definition(draft.out, definition);
  if (record.event == ItemEvent::adjust) {
    put_id(draft.out, record.adjust_id);
    draft.out.text(record.reason);
  }
  draft.append(out);
}

void write_reservation(std::vector<std::byte>& out, std::uint16_t offset_ms, const RecordStamp& stamp,
                       const ReservationRecord& record) {
  Draft draft(static_cast<std::uint8_t>(kReservation + static_cast<std::uint8_t>(record.event)), flags_of(record),
              offset_ms);
  draft.out.number(stamp.item.value());
  draft.out.number(stamp.sequence.value());
  put_id(draft.out, record.id);
  put_user(draft.out, record.user);
  draft.out.number(static_cast<std::uint64_t>(record.quantity.value()));
  if (record.deadline) draft.out.integer(difference(*record.deadline, stamp.hold));
  put_counters(draft.out, record.after);
  draft.append(out);
}

void write_forget(std::vector<std::byte>& out, std::uint16_t offset_ms, const RecordStamp& stamp,
                  const ForgetRecord& record) {
  Draft draft(kForget, 0, offset_ms);
  draft.out.number(stamp.item.value());
  draft.out.number(record.through.value());
  draft.out.number(record.count);
  draft.append(out);
}

void write_default_returns(std::vector<std::byte>& out, std::uint16_t offset_ms, const DefaultReturnsRecord& record) {
  Draft draft(kDefaultReturns, record.held ? kDefaultHeld : 0U, offset_ms);
  draft.append(out);
}

}  // namespace holdfast
