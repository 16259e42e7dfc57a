#include "replication/sql_array.h"

namespace holdfast {

void SqlArray::separate() {
  if (!empty()) text_ += ',';
}

void SqlArray::add(std::string_view text) {
  separate();
  text_ += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') text_ += '\\';
    text_ += c;
  }
  text_ += '"';
}

void SqlArray::add(std::int64_t number) {
  separate();
  text_ += std::to_string(number);
}

void SqlArray::add(std::uint64_t number) {
  separate();
  text_ += std::to_string(number);
}

void SqlArray::add(bool flag) {
  separate();
  text_ += flag ? 't' : 'f';
}

void SqlArray::add_null() {
  separate();
  text_ += "NULL";
}

}  // namespace holdfast
