// One column of many rows as the text of a PostgreSQL array, for unnest: thousands of rows cost one statement. One thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace holdfast {

class SqlArray {
 public:
  void add(std::string_view text);
  void add(std::int64_t number);
  void add(std::uint64_t number);
  void add(bool flag);
  void add_null();

  /// "{1,2,NULL}".
  std::string text() const { return text_ + "}"; }
  bool empty() const noexcept { return text_.size() == 1; }

 private:
  void separate();
  std::string text_ = "{";
};

}  // namespace holdfast
