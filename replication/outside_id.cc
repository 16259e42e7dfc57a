#include "replication/outside_id.h"

#include "protocol/names.h"

#include <limits>

namespace holdfast {

std::optional<std::int64_t> outside_user_number(std::string_view user) noexcept {
  std::uint64_t number = 0;
  if (!parse_canonical(user, std::numeric_limits<std::int64_t>::max(), number)) return std::nullopt;
  return static_cast<std::int64_t>(number);
}

std::optional<std::int64_t> outside_item_number(std::string_view name) noexcept {
  constexpr std::string_view kPrefix = "item:";
  if (name.starts_with(kPrefix)) name.remove_prefix(kPrefix.size());
  return outside_user_number(name);
}

}  // namespace holdfast
