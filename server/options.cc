#include "server/options.h"

#include "server/limits.h"

#include "protocol/check.h"
#include "protocol/names.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace holdfast {
namespace {

struct Unit {
  std::string_view suffix;
  std::uint64_t factor;
};
constexpr std::string_view kAuto = "auto";
constexpr std::string_view kOff = "-1";
constexpr Unit kByteUnits[] = {{"KiB", 1_KiB}, {"MiB", 1_MiB}, {"GiB", 1_GiB}};
constexpr Unit kDurationUnits[] = {{"ms", 1}, {"s", 1000}, {"m", 60'000}, {"h", 3'600'000}, {"d", 86'400'000}};

Error bad_value(const OptionEntry& entry, std::string_view text, std::string_view wanted) {
  return Error::format(ErrorCode::bad_option, "{}: '{}' is not {}", entry.name, Echo(text).text(), wanted);
}

/// A whole number, perhaps with one of the units, within the entry's range.
Result<std::uint64_t> parse_number(const OptionEntry& entry, std::string_view text, std::span<const Unit> units) {
  std::uint64_t factor = 1;
  std::string_view digits = text;
  for (const Unit& unit : units) {
    if (!text.ends_with(unit.suffix)) continue;
    digits = text.substr(0, text.size() - unit.suffix.size());
    factor = unit.factor;
    break;
  }
  std::uint64_t number = 0;
  if (!parse_canonical(digits, UINT64_MAX / factor, number)) {
    return bad_value(entry, text,
                     units.empty() ? "a whole number" : "a whole number with a unit, such as 64MiB or 500ms");
  }
  number *= factor;
  if (number < entry.min || number > entry.max) {
    return bad_value(entry, text, fmt::format("in the range {} to {}", entry.min, entry.max));
  }
  return number;
}

Result<void> assign(std::string& target, const OptionEntry& entry, std::string_view text) {
  if (entry.kind == OptionKind::choice) {
    const std::string all = fmt::format("|{}|", entry.choices);
    const bool known =
        text.find('|') == std::string_view::npos && all.find(fmt::format("|{}|", text)) != std::string::npos;
    if (!known || text.empty()) return bad_value(entry, text, fmt::format("one of {}", entry.choices));
  }
  if (text.empty()) return bad_value(entry, text, "a text");
  target = text;
  return {};
}

Result<void> assign(bool& target, const OptionEntry& entry, std::string_view text) {
  if (text != "yes" && text != "no" && text != "true" && text != "false") return bad_value(entry, text, "yes or no");
  target = text == "yes" || text == "true";
  return {};
}

Result<void> assign(std::uint64_t& target, const OptionEntry& entry, std::string_view text) {
  const auto units = entry.kind == OptionKind::bytes ? std::span<const Unit>(kByteUnits) : std::span<const Unit>();
  const auto number = parse_number(entry, text, units);
  if (!number) return number.error();
  target = *number;
  return {};
}

Result<void> assign(std::optional<std::uint64_t>& target, const OptionEntry& entry, std::string_view text) {
  target.reset();
  if (text == kAuto) return {};
  const auto number = parse_number(entry, text, {});
  if (!number) return bad_value(entry, text, fmt::format("{} or a number from {} to {}", kAuto, entry.min, entry.max));
  target = *number;
  return {};
}

Result<void> assign(option_types::count_or_off& target, const OptionEntry& entry, std::string_view text) {
  target = {};
  if (text == kOff) return {};
  const auto number = parse_number(entry, text, {});
  if (!number) return bad_value(entry, text, fmt::format("{} or a number from {} to {}", kOff, entry.min, entry.max));
  target.emplace(*number);
  return {};
}

Result<void> assign(Millis& target, const OptionEntry& entry, std::string_view text) {
  const auto number = parse_number(entry, text, kDurationUnits);
  if (!number) return number.error();
  target = Millis(static_cast<Millis::rep>(*number));
  return {};
}

std::string show(const std::string& value) { return value; }
std::string show(bool value) { return value ? "yes" : "no"; }
std::string show(std::uint64_t value) { return fmt::format_int(value).str(); }
std::string show(std::optional<std::uint64_t> value) { return value ? show(*value) : std::string(kAuto); }
std::string show(const option_types::count_or_off& value) {
  return value.has_value() ? show(*value) : std::string(kOff);
}
std::string show(Millis value) { return fmt::format_int(value.count()).str(); }

constexpr OptionEntry kOptions[] = {
#define HOLDFAST_OPTION_ENTRY(live, member, name, kind, initial, min, max, choices, summary) \
  {name,                                                                                     \
   OptionKind::kind,                                                                         \
   initial,                                                                                  \
   min,                                                                                      \
   max,                                                                                      \
   choices,                                                                                  \
   summary,                                                                                  \
   live,                                                                                     \
   [](Options& options, const OptionEntry& entry, std::string_view text) -> Result<void> {   \
     return assign(options.member, entry, text);                                             \
   },                                                                                        \
   [](const Options& options) { return show(options.member); }},
#define HOLDFAST_OPTION(...) HOLDFAST_OPTION_ENTRY(false, __VA_ARGS__)
#define HOLDFAST_LIVE_OPTION(...) HOLDFAST_OPTION_ENTRY(true, __VA_ARGS__)
#include "server/options.def"
#undef HOLDFAST_OPTION
#undef HOLDFAST_OPTION_ENTRY
};

bool is_loopback(const std::string& address) {
  std::array<unsigned char, 16> bytes{};
  if (inet_pton(AF_INET, address.c_str(), bytes.data()) == 1) return bytes[0] == 127;
  std::array<unsigned char, 16> loopback{};
  loopback[15] = 1;
  return inet_pton(AF_INET6, address.c_str(), bytes.data()) == 1 && bytes == loopback;
}

}  // namespace

Options::Options() {
  for (const OptionEntry& entry : kOptions) CHECK(entry.set(*this, entry, entry.initial).has_value());
}

std::span<const OptionEntry> option_table() noexcept { return kOptions; }

const OptionEntry* find_option(std::string_view name) noexcept {
  const auto found = std::find_if(std::begin(kOptions), std::end(kOptions),
                                  [&](const OptionEntry& entry) { return entry.name == name; });
  return found == std::end(kOptions) ? nullptr : found;
}

Result<void> check_options(const Options& options, const Users& users) {
  if (options.log_max_bytes / kSegmentsPerLogMin < options.segment_bytes) {
    return Error::format(
        ErrorCode::bad_option,
        "log-max-bytes: {} bytes are less than {} segments of {} bytes, and a segment stays or goes as "
        "a whole. Use at least {}, or a smaller segment-bytes",
        options.log_max_bytes, kSegmentsPerLogMin, options.segment_bytes, options.segment_bytes * kSegmentsPerLogMin);
  }
  if (is_loopback(options.bind) || users.configured()) return {};
  return Error::format(
      ErrorCode::bad_option,
      "bind: '{}' is not a loopback address, and no users are configured: anybody who reaches it could "
      "buy everything. Use 127.0.0.1 or ::1, or configure users ([users.NAME] in the file of --config)",
      Echo(options.bind).text());
}

}  // namespace holdfast
