// What items and users are called outside: their names, or numbers, where others' schemas know numbers only. No state; any thread.
#pragma once

#include "protocol/names.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast {

/// n of "item:<n>" or "<n>", canonical, up to 2^63-1.
std::optional<std::int64_t> outside_item_number(std::string_view name) noexcept;
/// n of "<n>", canonical, up to 2^63-1.
std::optional<std::int64_t> outside_user_number(std::string_view user) noexcept;

/// A reservation's id, as every schema has it: 36 characters, lower case.
std::string id_text(const ReservationId& id);

/// How a schema calls items and users.
enum class OutsideIds : std::uint8_t { text, bigint };
/// "text", "bigint": as `--ids` and SQL have it.
std::string_view ids_name(OutsideIds ids) noexcept;
/// The id as text: the outside name, or the number; nothing when the name is no number.
std::optional<std::string> outside_item_id(OutsideIds ids, std::string_view name);
std::optional<std::string> outside_user_id(OutsideIds ids, std::string_view user);

}  // namespace holdfast
