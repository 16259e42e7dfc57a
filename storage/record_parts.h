// Parts of items and reservations as records and snapshots hold them: one way to write each, one to read it.
// Pure functions; any thread. What is taken is whatever the bytes say: callers look at in.ok() and judge the values.
#pragma once

#include "storage/byte_codec.h"
#include "storage/record.h"

namespace holdfast {

/// No user, name or set of counters written here is longer.
inline constexpr std::size_t kDefinitionBytesMax = 7 * 10 + 3 * 2 + 16 + 2 * 128;

void put_counters(ByteWriter& out, const Counters& counters) noexcept;
Counters take_counters(ByteReader& in) noexcept;

/// Without the scope, which is a flag of whatever the definition stands in.
void put_definition(ByteWriter& out, const ItemDefinition& definition) noexcept;
void take_definition(ByteReader& in, ItemDefinition& definition);

void put_id(ByteWriter& out, const ReservationId& id) noexcept;
ReservationId take_id(ByteReader& in) noexcept;

/// Without its kind, which is a flag.
void put_user(ByteWriter& out, const UserId& user) noexcept;
/// A view into the bytes. False when the kind does not exist or the bytes are no user of it.
bool take_user(ByteReader& in, unsigned kind, UserId& user) noexcept;

}  // namespace holdfast
