// Rows for a statement over arrays, one array a column; and numbers out of rows that came back. Values; any thread.
#pragma once

#include "replication/postgres_connection.h"
#include "replication/sql_array.h"

#include <array>

namespace holdfast {

template <std::size_t kColumns>
class SqlRows {
 public:
  /// A value for each column: texts, numbers, flags, and optional ones.
  template <class... Values>
  void add(const Values&... values) {
    static_assert(sizeof...(Values) == kColumns);
    std::size_t at = 0;
    (put(columns_[at++], values), ...);
  }

  std::vector<std::string> parameters() const {
    std::vector<std::string> texts;
    for (const SqlArray& column : columns_) texts.push_back(column.text());
    return texts;
  }

 private:
  template <class Value>
  static void put(SqlArray& column, const Value& value) {
    if constexpr (std::is_convertible_v<Value, std::string_view>) {
      column.add(std::string_view(value));
    } else {
      column.add(value);
    }
  }
  template <class Value>
  static void put(SqlArray& column, const std::optional<Value>& value) {
    if (value) {
      put(column, *value);
    } else {
      column.add_null();
    }
  }

  std::array<SqlArray, kColumns> columns_;
};

/// A number in a column; 0 for NULL. REQUIRES: the column is a bigint.
inline std::int64_t number_in(const SqlRow& row, std::size_t column) {
  return std::stoll(row.at(column).value_or("0"));
}
inline std::uint64_t unsigned_in(const SqlRow& row, std::size_t column) {
  return static_cast<std::uint64_t>(number_in(row, column));
}

}  // namespace holdfast
