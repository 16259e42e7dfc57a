// Names as they stand in texts outside the server, JSON and text columns: printable UTF-8 as it is; all other bytes, and
// "%", as %XX. Reversible. No state; any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace holdfast {

/// Printable: no control characters (C0, DEL, C1); well-formed UTF-8 as RFC 3629 has it.
std::string outside_text(std::string_view bytes);

/// The bytes of such a text; nothing when a "%" in it does not begin two upper-case hexadecimal digits.
std::optional<std::string> inside_bytes(std::string_view text);

}  // namespace holdfast
