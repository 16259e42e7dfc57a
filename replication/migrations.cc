#include "replication/migrations.h"

namespace holdfast {

std::string sql_with_ids(std::string_view text, OutsideIds ids) {
  constexpr std::string_view kPlaceholder = "{{id}}";
  std::string sql(text);
  for (std::size_t at = 0; (at = sql.find(kPlaceholder, at)) != std::string::npos;) {
    sql.replace(at, kPlaceholder.size(), ids_name(ids));
  }
  return sql;
}

}  // namespace holdfast
