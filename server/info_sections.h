// The sections of INFO that it shows by itself, each a writer of "name:value" lines that end in CR LF. Any thread.
#pragma once

#include "server/server_status.h"

#include <fmt/format.h>

#include <iterator>
#include <span>
#include <string>

namespace holdfast {

struct InfoSection {
  std::string_view title;
  void (*write)(std::string& text, const ServerStatus& status);
};

/// In the order in which they are shown.
std::span<const InfoSection> info_sections() noexcept;

template <class Value>
void info_line(std::string& text, std::string_view name, const Value& value) {
  fmt::format_to(std::back_inserter(text), "{}:{}\r\n", name, value);
}

}  // namespace holdfast
