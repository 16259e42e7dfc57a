#include "replication/observation_spill.h"

#include "protocol/check.h"

#include <cstring>

namespace holdfast {
namespace {

/// As they lie in a file; `user_bytes` bytes of user follow.
struct Packed {
  std::uint64_t number = 0, sequence = 0, lsn = 0, digest = 0, offer = 0;
  std::int64_t quantity = 0, price = 0, reserved_at_ms = 0, expires_at_ms = 0;
  std::array<std::uint8_t, ReservationId::kBytes> id{};
  std::uint32_t user_bytes = 0;
  std::uint8_t source = 0, status = 0, from = 0, terms = 0;
  std::uint8_t has = 0;
  std::array<std::uint8_t, 7> unused{};
};
constexpr std::uint8_t kHasFrom = 1, kHasId = 2, kHasExpiry = 4, kExclusive = 8;
static_assert(std::is_trivially_copyable_v<Packed> && sizeof(Packed) == 104);

std::size_t part_of(const Observation& observation) noexcept {
  std::uint64_t words[2];
  std::memcpy(words, observation.id.value_or(ReservationId()).bytes().data(), sizeof words);
  const std::uint64_t mixed =
      (words[0] ^ words[1] * 0x9e3779b97f4a7c15 ^ observation.number.value()) * 0xff51afd7ed558ccd;
  return (mixed >> 32) % kReconcileParts;
}

Packed pack(const Observation& observation) {
  Packed packed;
  packed.number = observation.number.value();
  packed.sequence = observation.sequence.value();
  packed.lsn = observation.lsn.value();
  packed.digest = observation.digest;
  packed.quantity = observation.quantity;
  if (observation.id) packed.id = observation.id->bytes();
  packed.user_bytes = static_cast<std::uint32_t>(observation.user.size());
  packed.source = static_cast<std::uint8_t>(observation.source);
  packed.status = static_cast<std::uint8_t>(observation.status);
  const OrderTerms& terms = observation.terms;
  packed.terms = terms.told.bits();
  packed.offer = terms.offer;
  packed.price = terms.price;
  packed.reserved_at_ms = terms.reserved_at_ms;
  packed.expires_at_ms = terms.expires_at_ms.value_or(0);
  packed.has = static_cast<std::uint8_t>((observation.from ? kHasFrom : 0) | (observation.id ? kHasId : 0) |
                                         (terms.expires_at_ms ? kHasExpiry : 0) | (terms.exclusive ? kExclusive : 0));
  if (observation.from) packed.from = static_cast<std::uint8_t>(*observation.from);
  return packed;
}

Observation unpack(const Packed& packed) {
  Observation observation;
  observation.number = ItemNumber(packed.number);
  if ((packed.has & kHasId) != 0) observation.id = ReservationId(packed.id);
  observation.source = static_cast<ObservationSource>(packed.source);
  observation.sequence = Sequence(packed.sequence);
  observation.lsn = Lsn(packed.lsn);
  observation.status = static_cast<OrderStatus>(packed.status);
  if ((packed.has & kHasFrom) != 0) observation.from = static_cast<OrderStatus>(packed.from);
  observation.quantity = packed.quantity;
  observation.digest = packed.digest;
  OrderTerms& terms = observation.terms;
  terms.told = OrderTermSet::from_bits(packed.terms);
  terms.exclusive = (packed.has & kExclusive) != 0;
  terms.offer = packed.offer;
  terms.price = packed.price;
  terms.reserved_at_ms = packed.reserved_at_ms;
  if ((packed.has & kHasExpiry) != 0) terms.expires_at_ms = packed.expires_at_ms;
  return observation;
}

}  // namespace

Result<ObservationSpill> ObservationSpill::make() {
  auto files = SpillFiles::make();
  if (!files) return files.error();
  return ObservationSpill(std::move(*files));
}

Result<void> ObservationSpill::add(const Observation& observation) {
  const Packed packed = pack(observation);
  const std::size_t part = part_of(observation);
  HOLDFAST_TRY(files_.write(part, std::as_bytes(std::span(&packed, 1))));
  return files_.write(part, std::as_bytes(std::span(observation.user)));
}

Result<std::vector<Observation>> ObservationSpill::take(std::size_t part) {
  HOLDFAST_TRY(files_.rewind(part));
  std::vector<Observation> observations;
  Packed packed;
  while (true) {
    const auto more = files_.read(part, std::as_writable_bytes(std::span(&packed, 1)));
    if (!more) return more.error();
    if (!*more) break;
    Observation& observation = observations.emplace_back(unpack(packed));
    observation.user.resize(packed.user_bytes);
    const auto user = files_.read(part, std::as_writable_bytes(std::span(observation.user)));
    if (!user) return user.error();
    CHECK(*user);
  }
  files_.drop(part);
  return observations;
}

}  // namespace holdfast
