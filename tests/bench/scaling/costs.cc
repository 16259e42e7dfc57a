#include "tests/bench/scaling/costs.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>

namespace holdfast::scaling {
namespace {

struct Name {
  std::string_view text;
  Nanos Costs::*member;
};
constexpr Name kNames[] = {
    {"turn", &Costs::turn},
    {"sleeping", &Costs::sleep},
    {"socket", &Costs::socket},
    {"refuse", &Costs::refuse},
    {"own", &Costs::own},
    {"forward", &Costs::forward},
    {"run", &Costs::run},
    {"block", &Costs::block},
    {"group", &Costs::group},
    {"wake", &Costs::wake},
    {"commit", &Costs::commit},
    {"record", &Costs::record},
    {"flush", &Costs::flush},
    {"flush_record", &Costs::flush_record},
    {"load_sleep", &Costs::load_sleep},
    {"load_socket", &Costs::load_socket},
    {"load_request", &Costs::load_request},
    {"wake_latency", &Costs::wake_latency},
};

Result<void> parse_line(const std::string& line, Costs& costs, std::set<std::string_view>& seen) {
  std::istringstream words(line);
  std::string name, value, more;
  if (!(words >> name) || name.starts_with('#')) return {};
  const auto found =
      std::find_if(std::begin(kNames), std::end(kNames), [&](const Name& one) { return one.text == name; });
  if (found == std::end(kNames)) return Error::format(ErrorCode::err, "'{}': no cost has this name", line);
  if (!seen.insert(found->text).second) return Error::format(ErrorCode::err, "'{}': for the second time", line);
  double micros = -1;
  const bool two = static_cast<bool>(words >> value) && !(words >> more);
  const auto [end, wrong] = std::from_chars(value.data(), value.data() + value.size(), micros);
  if (!two || wrong != std::errc() || end != value.data() + value.size() || !(micros >= 0)) {
    return Error::format(ErrorCode::err, "'{}': a name and microseconds, at least 0, are wanted", line);
  }
  costs.*found->member = std::chrono::duration<double, std::micro>(micros);
  return {};
}

}  // namespace

Result<Costs> parse_costs(std::string_view text) {
  Costs costs;
  std::set<std::string_view> seen;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) HOLDFAST_TRY(parse_line(line, costs, seen));
  for (const Name& name : kNames) {
    if (!seen.contains(name.text)) return Error::format(ErrorCode::err, "the cost '{}' is missing", name.text);
  }
  return costs;
}

Result<Costs> read_costs(const char* path) {
  const auto text = read_text(path);
  if (!text) return text.error();
  return parse_costs(*text);
}

Result<std::string> read_text(const char* path) {
  std::ifstream file(path);
  std::string text(std::istreambuf_iterator<char>(file), {});
  if (!file) return Error::format(ErrorCode::io_failed, "{} cannot be read", path);
  return text;
}

}  // namespace holdfast::scaling
