// The numbers that items and users are outside, where others' schemas know numbers only. No state; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace holdfast {

/// n of "item:<n>" or "<n>", canonical, up to 2^63-1.
std::optional<std::int64_t> outside_item_number(std::string_view name) noexcept;
/// n of "<n>", canonical, up to 2^63-1.
std::optional<std::int64_t> outside_user_number(std::string_view user) noexcept;

}  // namespace holdfast
