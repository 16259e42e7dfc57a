#include "replication/outside_id.h"

#include "protocol/names.h"
#include "protocol/outside_text.h"

#include <limits>

namespace holdfast {
namespace {

std::optional<std::string> id_text(OutsideIds ids, std::string_view name, std::optional<std::int64_t> number) {
  if (ids == OutsideIds::text) return outside_text(name);
  if (!number) return std::nullopt;
  return std::to_string(*number);
}

}  // namespace

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

std::string_view ids_name(OutsideIds ids) noexcept { return ids == OutsideIds::text ? "text" : "bigint"; }

std::optional<std::string> outside_item_id(OutsideIds ids, std::string_view name) {
  return id_text(ids, name, outside_item_number(name));
}

std::optional<std::string> outside_user_id(OutsideIds ids, std::string_view user) {
  return id_text(ids, user, outside_user_number(user));
}

std::string id_text(const ReservationId& id) {
  const auto text = id.text();
  return {text.data(), text.size()};
}

}  // namespace holdfast
