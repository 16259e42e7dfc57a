#include "tools/reply.h"

#include "protocol/names.h"

#include <fmt/format.h>

namespace holdfast {
namespace {

constexpr int kDepthMax = 32;
constexpr std::int64_t kBulkBytesMax = 512 << 20;

/// Reads one reply and whatever is inside it.
class Parser {
 public:
  explicit Parser(std::string_view bytes) : bytes_(bytes) {}

  /// False: not whole yet, or broken().
  bool take(Reply& reply, int depth = 0) {
    std::string_view line;
    if (depth > kDepthMax) return broken_ = true, false;
    if (!take_line(line)) return false;
    if (line.empty()) return broken_ = true, false;
    const char type = line.front();
    line.remove_prefix(1);
    switch (type) {
      case ':':
        reply.kind = Reply::Kind::integer;
        return number(line, reply.integer);
      case '+':
        return text(reply, Reply::Kind::status, line);
      case '-':
        return text(reply, Reply::Kind::error, line);
      case ',':
      case '(':
        return text(reply, Reply::Kind::real, line);
      case '_':
        reply.kind = Reply::Kind::null;
        return true;
      case '#':
        reply.kind = Reply::Kind::boolean;
        reply.integer = line == "t" ? 1 : 0;
        return true;
      case '$':
        return bulk(reply, line, 0);
      case '=':
        return bulk(reply, line, 4);
      case '*':
        return list(reply, Reply::Kind::array, line, 1, depth);
      case '~':
        return list(reply, Reply::Kind::set, line, 1, depth);
      case '>':
        return list(reply, Reply::Kind::push, line, 1, depth);
      case '%':
        return list(reply, Reply::Kind::map, line, 2, depth);
      default:
        return broken_ = true, false;
    }
  }

  bool broken() const noexcept { return broken_; }
  std::size_t at() const noexcept { return at_; }

 private:
  bool take_line(std::string_view& line) {
    const std::size_t end = bytes_.find("\r\n", at_);
    if (end == std::string_view::npos) return false;
    line = bytes_.substr(at_, end - at_);
    at_ = end + 2;
    return true;
  }

  bool number(std::string_view line, std::int64_t& value) {
    return parse_integer(line, value) || (broken_ = true, false);
  }

  static bool text(Reply& reply, Reply::Kind kind, std::string_view line) {
    reply.kind = kind;
    reply.text = line;
    return true;
  }

  bool bulk(Reply& reply, std::string_view line, std::size_t skip) {
    std::int64_t size = 0;
    if (!number(line, size)) return false;
    if (size == -1) return reply.kind = Reply::Kind::null, true;
    if (size < static_cast<std::int64_t>(skip) || size > kBulkBytesMax) return broken_ = true, false;
    const auto bytes = static_cast<std::size_t>(size);
    if (bytes_.size() - at_ < bytes + 2) return false;
    text(reply, Reply::Kind::bulk, bytes_.substr(at_ + skip, bytes - skip));
    at_ += bytes + 2;
    return true;
  }

  bool list(Reply& reply, Reply::Kind kind, std::string_view line, std::int64_t each, int depth) {
    std::int64_t count = 0;
    if (!number(line, count)) return false;
    if (count == -1) return reply.kind = Reply::Kind::null, true;
    if (count < 0 || count > kBulkBytesMax) return broken_ = true, false;
    reply.kind = kind;
    for (std::int64_t i = 0; i < count * each; ++i) {
      if (!take(reply.items.emplace_back(), depth + 1)) return false;
    }
    return true;
  }

  std::string_view bytes_;
  std::size_t at_ = 0;
  bool broken_ = false;
};

/// The length of the UTF-8 character at the front, 0 when there is none.
std::size_t utf8_length(std::string_view text) noexcept {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const std::size_t length = byte(0) < 0x80 ? 1 : byte(0) >= 0xf0 ? 4 : byte(0) >= 0xe0 ? 3 : byte(0) >= 0xc2 ? 2 : 0;
  if (length == 0 || length > text.size() || byte(0) > 0xf4) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  return length;
}

void append_json_text(std::string& out, std::string_view text) {
  out += '"';
  while (!text.empty()) {
    const auto byte = static_cast<unsigned char>(text.front());
    const std::size_t length = utf8_length(text);
    if (byte == '"' || byte == '\\') {
      out.append("\\").push_back(text.front());
    } else if (byte < 0x20 || byte == 0x7f || length == 0) {
      out += fmt::format("\\u{:04x}", byte);
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  out += '"';
}

void append_json(std::string& out, const Reply& reply) {
  switch (reply.kind) {
    case Reply::Kind::null:
      out += "null";
      return;
    case Reply::Kind::integer:
      out += fmt::format_int(reply.integer).str();
      return;
    case Reply::Kind::boolean:
      out += reply.integer != 0 ? "true" : "false";
      return;
    case Reply::Kind::error:
      out += "{\"error\":";
      append_json_text(out, reply.text);
      out += '}';
      return;
    case Reply::Kind::real:
    case Reply::Kind::status:
    case Reply::Kind::bulk:
      append_json_text(out, reply.text);
      return;
    default:
      break;
  }
  const bool map = reply.kind == Reply::Kind::map;
  out += map ? '{' : '[';
  for (std::size_t i = 0; i < reply.items.size(); ++i) {
    if (i > 0) out += map && i % 2 == 1 ? ':' : ',';
    append_json(out, reply.items[i]);
  }
  out += map ? '}' : ']';
}

/// Bytes between quotes, those that are not printable escaped.
std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out.append("\\").push_back(c);
    } else if (c >= ' ' && c <= '~') {
      out += c;
    } else {
      out += c == '\n' ? "\\n" : c == '\r' ? "\\r" : fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
  }
  return out + "\"";
}

void append_shown(std::string& out, const Reply& reply, const std::string& indent) {
  switch (reply.kind) {
    case Reply::Kind::null:
      out += "(nil)\n";
      return;
    case Reply::Kind::integer:
      out += fmt::format("{}\n", reply.integer);
      return;
    case Reply::Kind::boolean:
      out += reply.integer != 0 ? "true\n" : "false\n";
      return;
    case Reply::Kind::error:
      out += fmt::format("(error) {}\n", reply.text);
      return;
    case Reply::Kind::real:
    case Reply::Kind::status:
      out += reply.text + "\n";
      return;
    case Reply::Kind::bulk:
      out += (indent.empty() ? reply.text : quoted(reply.text)) + "\n";
      return;
    default:
      break;
  }
  if (reply.items.empty()) {
    out += "(empty)\n";
    return;
  }
  const std::size_t each = reply.kind == Reply::Kind::map ? 2 : 1;
  for (std::size_t i = 0; i < reply.items.size(); i += each) {
    const std::string label = each == 2 ? reply.items[i].text + ": " : fmt::format("{}) ", i + 1);
    if (i > 0) out += indent;
    out += label;
    append_shown(out, reply.items[i + each - 1], indent + std::string(label.size(), ' '));
  }
}

}  // namespace

const Reply* Reply::find(std::string_view key) const noexcept {
  for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
    if (items[i].text == key) return &items[i + 1];
  }
  return nullptr;
}

Result<std::optional<ParsedReply>> parse_reply(std::string_view bytes) {
  Parser parser(bytes);
  ParsedReply parsed;
  if (parser.take(parsed.reply)) {
    parsed.bytes = parser.at();
    return std::optional<ParsedReply>(std::move(parsed));
  }
  if (parser.broken()) return Error(ErrorCode::io_failed, "the server sent something that is no reply");
  return std::optional<ParsedReply>();
}

void append_request(std::string& out, const std::vector<std::string>& words) {
  out += fmt::format("*{}\r\n", words.size());
  for (const std::string& word : words) {
    out += fmt::format("${}\r\n", word.size());
    out.append(word).append("\r\n");
  }
}

std::string show_reply(const Reply& reply) {
  std::string out;
  append_shown(out, reply, "");
  return out;
}

std::string reply_to_json(const Reply& reply) {
  std::string out;
  append_json(out, reply);
  return out;
}

}  // namespace holdfast
