#include "tests/unit/server/reply_value.h"

#include "protocol/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace holdfast::testing {
namespace {

/// Reads RESP from the front of what is left.
class Decoder {
 public:
  explicit Decoder(std::string_view bytes) : rest_(bytes) {}

  ReplyValue next() {
    const char type = take(1)[0];
    const std::string_view line = take_line();
    ReplyValue value;
    switch (type) {
      case ':':
        value.kind = ReplyValue::Kind::integer;
        value.number = number(line);
        return value;
      case '+':
        value.kind = ReplyValue::Kind::status;
        value.text = line;
        return value;
      case '-':
        value.kind = ReplyValue::Kind::error;
        value.text = line;
        return value;
      case '_':
        if (!line.empty()) throw std::runtime_error("a null with something in it");
        return value;
      case '$':
        return bulk(number(line));
      case '*':
        return items(ReplyValue::Kind::array, number(line));
      case '%':
        return items(ReplyValue::Kind::map, 2 * number(line));
      case '~':
        return items(ReplyValue::Kind::set, number(line));
      default:
        throw std::runtime_error(fmt::format("no RESP type: '{}'", type));
    }
  }
  bool at_end() const { return rest_.empty(); }

 private:
  std::string_view take(std::size_t count) {
    if (rest_.size() < count) throw std::runtime_error("the reply ends early");
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }
  std::string_view take_line() {
    const std::string_view line = take(rest_.find("\r\n"));
    take(2);
    return line;
  }
  static std::int64_t number(std::string_view text) {
    std::int64_t number = 0;
    if (!parse_integer(text, number)) throw std::runtime_error("not a number: " + std::string(text));
    return number;
  }
  ReplyValue bulk(std::int64_t size) {
    if (size == -1) return {};
    ReplyValue value;
    value.kind = ReplyValue::Kind::bulk;
    value.text = take(static_cast<std::size_t>(size));
    if (take(2) != "\r\n") throw std::runtime_error("a bulk of another length");
    return value;
  }
  ReplyValue items(ReplyValue::Kind kind, std::int64_t count) {
    if (count == -1) return {};
    ReplyValue value;
    value.kind = kind;
    for (; count > 0; --count) value.items.push_back(next());
    return value;
  }

  std::string_view rest_;
};

/// `pattern` is a beginning of `text`, where "..." stands for any bytes.
bool begins_with(std::string_view text, std::string_view pattern) {
  for (bool anchored = true;; anchored = false) {
    const std::size_t gap = std::min(pattern.find("..."), pattern.size());
    const std::size_t found = text.find(pattern.substr(0, gap));
    if (found == std::string_view::npos || (anchored && found != 0)) return false;
    if (gap == pattern.size()) return true;
    text.remove_prefix(found + gap);
    pattern.remove_prefix(gap + 3);
  }
}

bool same_items(const std::vector<ReplyValue>& found, const std::vector<ReplyValue>& expected) {
  return std::equal(found.begin(), found.end(), expected.begin(), expected.end(),
                    [](const ReplyValue& a, const ReplyValue& b) { return a.fits(b); });
}

bool is_mapping(const ReplyValue& value) {
  return value.kind == ReplyValue::Kind::map || (value.kind == ReplyValue::Kind::array && value.items.size() % 2 == 0);
}

}  // namespace

ReplyValue ReplyValue::decode(std::string_view bytes) {
  Decoder decoder(bytes);
  ReplyValue value = decoder.next();
  if (!decoder.at_end()) throw std::runtime_error("more than one reply");
  return value;
}

std::string ReplyValue::to_text() const {
  const auto joined = [this](char left, char right) {
    std::string whole(1, left);
    for (const ReplyValue& item : items) {
      if (whole.size() > 1) whole += ' ';
      whole += item.to_text();
    }
    if (open) whole += items.empty() ? "..." : " ...";
    return whole + right;
  };
  switch (kind) {
    case Kind::integer:
      return fmt::to_string(number);
    case Kind::status:
      return text;
    case Kind::bulk:
      return quoted(text);
    case Kind::error:
      return "-" + text;
    case Kind::null:
      return "nil";
    case Kind::array:
      return joined('[', ']');
    case Kind::map:
      return joined('{', '}');
    case Kind::set:
      return joined('(', ')');
    case Kind::anything:
      return "*";
  }
  return {};
}

bool ReplyValue::fits(const ReplyValue& expected) const {
  if (expected.kind == Kind::anything) return true;
  if (expected.kind == Kind::map) {
    if (!is_mapping(*this) || (!expected.open && items.size() != expected.items.size())) return false;
    for (std::size_t i = 0; i < expected.items.size(); i += 2) {
      const auto found = [&] {
        for (std::size_t k = 0; k < items.size(); k += 2) {
          if (items[k].text == expected.items[i].text) return k + 1;
        }
        return items.size();
      }();
      if (found == items.size() || !items[found].fits(expected.items[i + 1])) return false;
    }
    return true;
  }
  if (kind != expected.kind) return false;
  if (kind == Kind::error) return begins_with(text, expected.text);
  if (kind == Kind::array || kind == Kind::set) return same_items(items, expected.items);
  return number == expected.number && text == expected.text;
}

const ReplyValue& ReplyValue::at(std::string_view key) const {
  if (is_mapping(*this)) {
    for (std::size_t i = 0; i < items.size(); i += 2) {
      if (items[i].text == key) return items[i + 1];
    }
  }
  throw std::runtime_error(fmt::format("no '{}' in {}", key, to_text()));
}

std::string quoted(std::string_view bytes) {
  std::string text = "\"";
  for (const char byte : bytes) {
    const auto code = static_cast<unsigned char>(byte);
    if (byte == '"' || byte == '\\') {
      text += '\\';
      text += byte;
    } else if (code < 0x20 || code > 0x7e) {
      text += fmt::format("\\x{:02x}", code);
    } else {
      text += byte;
    }
  }
  return text + '"';
}

}  // namespace holdfast::testing
