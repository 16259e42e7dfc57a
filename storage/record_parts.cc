#include "storage/record_parts.h"

#include "storage/limits.h"

namespace holdfast {

static_assert(kDefinitionBytesMax >= 7 * 10 + (1 + kCurrencyBytesMax) + 2 * (2 + kLabelBytesMax));

void put_counters(ByteWriter& out, const Counters& counters) noexcept {
  for (const auto count : {counters.available, counters.reserved, counters.confirmed, counters.held})
    out.integer(count);
}

Counters take_counters(ByteReader& in) noexcept {
  Counters counters;
  for (auto* count : {&counters.available, &counters.reserved, &counters.confirmed, &counters.held}) {
    *count = in.integer();
  }
  return counters;
}

void put_definition(ByteWriter& out, const ItemDefinition& definition) noexcept {
  out.integer(definition.stock);
  out.integer(definition.limit);
  out.integer(definition.ttl.count());
  out.integer(definition.max_hold.count());
  out.integer(to_ms(definition.opens_at));
  out.integer(to_ms(definition.closes_at));
  out.integer(definition.price);
  out.text(definition.currency);
  out.text(definition.sale);
  out.text(definition.product);
}

void take_definition(ByteReader& in, ItemDefinition& definition) {
  definition.stock = in.integer();
  definition.limit = in.integer();
  definition.ttl = Millis(in.integer());
  definition.max_hold = Millis(in.integer());
  definition.opens_at = wall_time(in.integer());
  definition.closes_at = wall_time(in.integer());
  definition.price = in.integer();
  definition.currency = in.text(kCurrencyBytesMax);
  definition.sale = in.text(kLabelBytesMax);
  definition.product = in.text(kLabelBytesMax);
}

void put_id(ByteWriter& out, const ReservationId& id) noexcept {
  out.raw({reinterpret_cast<const char*>(id.bytes().data()), id.bytes().size()});
}

ReservationId take_id(ByteReader& in) noexcept {
  return ReservationId(in.fixed<std::array<std::uint8_t, ReservationId::kBytes>>());
}

void put_user(ByteWriter& out, const UserId& user) noexcept {
  switch (user.kind()) {
    case UserId::Kind::number:
      return out.number(user.number());
    case UserId::Kind::uuid:
      return out.raw(user.bytes());
    case UserId::Kind::bytes:
      return out.text(user.bytes());
  }
}

bool take_user(ByteReader& in, unsigned kind, UserId& user) noexcept {
  if (kind == static_cast<unsigned>(UserId::Kind::number)) {
    user = UserId::from_number(in.number());
    return in.ok();
  }
  const bool uuid = kind == static_cast<unsigned>(UserId::Kind::uuid);
  if (!uuid && kind != static_cast<unsigned>(UserId::Kind::bytes)) return false;
  const auto bytes = uuid ? in.raw(16) : in.text(kUserBytesMax);
  if (!in.ok() || bytes.empty()) return false;
  user = uuid ? UserId::from_uuid(bytes) : UserId::from_bytes(bytes);
  return true;
}

}  // namespace holdfast
