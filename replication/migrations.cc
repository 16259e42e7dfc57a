#include "replication/migrations.h"

namespace holdfast {

std::string_view ids_name(OutsideIds ids) noexcept { return ids == OutsideIds::text ? "text" : "bigint"; }

std::string migration_sql(const Migration& migration, OutsideIds ids) {
  constexpr std::string_view kPlaceholder = "{{id}}";
  std::string sql(migration.sql);
  for (std::size_t at = 0; (at = sql.find(kPlaceholder, at)) != std::string::npos;) {
    sql.replace(at, kPlaceholder.size(), ids_name(ids));
  }
  return sql;
}

}  // namespace holdfast
