// The database's schema as steps that are built into the program, from deploy/postgres/. Constants; any thread.
#pragma once

#include "replication/outside_id.h"

#include <span>
#include <string>

namespace holdfast {

struct Migration {
  int version;  // dense from 1
  std::string_view name;
  std::string_view sql;  // with {{id}} where ids_name belongs
};
/// In order.
std::span<const Migration> migrations() noexcept;
/// SQL with the type of these ids for each {{id}}.
std::string sql_with_ids(std::string_view text, OutsideIds ids);

}  // namespace holdfast
