// The database's schema as steps that are built into the program, from deploy/postgres/. Constants; any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace holdfast {

/// How items and users are called in the tables.
enum class OutsideIds : std::uint8_t { text, bigint };
/// "text", "bigint": as `--ids` and SQL have it.
std::string_view ids_name(OutsideIds ids) noexcept;

struct Migration {
  int version;  // dense from 1
  std::string_view name;
  std::string_view sql;  // with {{id}} where ids_name belongs
};
/// In order.
std::span<const Migration> migrations() noexcept;
/// The step for these ids.
std::string migration_sql(const Migration& migration, OutsideIds ids);

}  // namespace holdfast
