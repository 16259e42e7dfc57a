#include "tests/unit/server/transcript.h"

#include "protocol/names.h"

#include <fmt/format.h>

#include <fstream>
#include <regex>
#include <stdexcept>

namespace holdfast::testing {
namespace {

/// Reads expectations: 1, OK, "bulk", nil, *, [...], {...}, (...).
class ExpectationReader {
 public:
  explicit ExpectationReader(std::string_view text) : rest_(text) {}

  ReplyValue next() {
    skip_spaces();
    if (rest_.empty()) throw std::runtime_error("an expectation ends early");
    switch (rest_.front()) {
      case '[':
        return items(ReplyValue::Kind::array, ']');
      case '{':
        return items(ReplyValue::Kind::map, '}');
      case '(':
        return items(ReplyValue::Kind::set, ')');
      case '"':
        return bulk();
      default:
        return word();
    }
  }
  bool at_end() { return skip_spaces(), rest_.empty(); }

 private:
  void skip_spaces() { rest_.remove_prefix(std::min(rest_.find_first_not_of(' '), rest_.size())); }

  ReplyValue items(ReplyValue::Kind kind, char close) {
    ReplyValue value;
    value.kind = kind;
    rest_.remove_prefix(1);
    for (;;) {
      if (at_end()) throw std::runtime_error("an expectation is not closed");
      if (rest_.front() == close) break;
      if (kind == ReplyValue::Kind::map && rest_.starts_with("...")) {
        value.open = true;
        rest_.remove_prefix(3);
        continue;
      }
      value.items.push_back(next());
    }
    rest_.remove_prefix(1);
    return value;
  }

  ReplyValue bulk() {
    std::size_t end = 1;
    while (end < rest_.size() && rest_[end] != '"') end += rest_[end] == '\\' ? 2U : 1U;
    ReplyValue value;
    value.kind = ReplyValue::Kind::bulk;
    const auto words = split_words(rest_.substr(0, end + 1));
    value.text = words.at(0);
    rest_.remove_prefix(end + 1);
    return value;
  }

  ReplyValue word() {
    const std::size_t end = std::min(rest_.find_first_of(" ]})"), rest_.size());
    const std::string_view text = rest_.substr(0, end);
    if (text.empty()) throw std::runtime_error("an expectation that cannot be read");
    rest_.remove_prefix(end);
    ReplyValue value;
    if (text == "nil") return value;
    if (text == "*") {
      value.kind = ReplyValue::Kind::anything;
    } else if (text.size() > 1 && text[0] == '-' && std::isalpha(static_cast<unsigned char>(text[1])) != 0) {
      value.kind = ReplyValue::Kind::error;
      value.text = text.substr(1);
    } else if (parse_integer(text, value.number)) {
      value.kind = ReplyValue::Kind::integer;
    } else {
      value.kind = ReplyValue::Kind::status;
      value.text = text;
    }
    return value;
  }

  std::string_view rest_;
};

Millis duration(std::string_view text) {
  const std::size_t digits = std::min(text.find_first_not_of("+-0123456789"), text.size());
  const std::string_view unit = text.substr(digits);
  const auto number = std::stoll(std::string(text.substr(0, digits)));
  if (unit == "ms") return Millis(number);
  if (unit == "s") return std::chrono::seconds(number);
  if (unit == "m") return std::chrono::minutes(number);
  if (unit == "h") return std::chrono::hours(number);
  throw std::runtime_error(fmt::format("'{}' is no time", text));
}

}  // namespace

ReplyValue parse_expected(std::string_view text) {
  if (text.starts_with('-') && text.size() > 1 && std::isalpha(static_cast<unsigned char>(text[1])) != 0) {
    ReplyValue error;
    error.kind = ReplyValue::Kind::error;
    error.text = text.substr(1);
    return error;
  }
  ExpectationReader reader(text);
  ReplyValue value = reader.next();
  if (!reader.at_end()) throw std::runtime_error("an expectation is followed by something");
  return value;
}

Transcript::Transcript(const std::filesystem::path& file) : name_(file.filename().string()) {
  std::ifstream in(file);
  if (!in) throw std::runtime_error("cannot read " + file.string());
  std::string line;
  for (std::size_t number = 1; std::getline(in, line); ++number) add_line(number, line);
}

void Transcript::add_line(std::size_t number, std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  if (text.empty() || text.starts_with("# ")) return;
  if (text.starts_with(">! ")) {
    steps_.push_back({number, true, std::string(text.substr(3)), {}, true});
  } else if (text.starts_with("> ")) {
    steps_.push_back({number, true, std::string(text.substr(2)), {}, false});
  } else if (text.starts_with('@')) {
    steps_.push_back({number, false, std::string(text.substr(1)), {}, false});
  } else {
    if (steps_.empty() || !steps_.back().is_command) throw std::runtime_error("an expectation without a command");
    std::string& expected = steps_.back().expected;
    expected.append(expected.empty() ? "" : " ").append(text);
  }
}

std::vector<std::string> Transcript::play() {
  try {
    for (const Step& step : steps_) {
      line_ = step.line;
      if (!step.is_command && step.text.starts_with("option ")) {
        set_option(split_words(step.text));
        continue;
      }
      if (!bench_) {
        bench_ = std::make_unique<StepBench>(settings_);
        start_ = bench_->now().wall;
      }
      step.is_command ? command(step) : direct(step.text);
    }
    if (bench_) bench_->compare_all();
  } catch (const std::exception& error) {
    fail(error.what());
  }
  return failures_;
}

void Transcript::command(const Step& step) {
  const std::size_t records = bench_->tape().size();
  const ReplyValue reply = bench_->run(split_words(substituted(step.text)));
  const ReplyValue expected = parse_expected(substituted(step.expected));
  if (!reply.fits(expected)) {
    fail(fmt::format("{}: got {}, expected {}", step.text, reply.to_text(), expected.to_text()));
  }
  if (step.writes_nothing && bench_->tape().size() != records) fail(step.text + ": wrote a record");
}

void Transcript::direct(const std::string& text) {
  const auto words = split_words(substituted(text));
  const std::string& name = words.at(0);
  if (name == "sweep") {
    bench_->sweep();
  } else if (name == "restart") {
    bench_->restart();
  } else if (name == "resp2" || name == "resp3") {
    bench_->set_version(name == "resp2" ? RespVersion::resp2 : RespVersion::resp3);
  } else if (name == "repeat") {
    repeat(words);
  } else if (name == "records") {
    if (std::to_string(bench_->tape().size()) != words.at(1)) {
      fail(fmt::format("{} records, expected {}", bench_->tape().size(), words.at(1)));
    }
  } else if (name == "overloaded") {
    bench_->inventory().set_overloaded(words.size() > 1 ? words[1] : "");
  } else if (name == "fenced") {
    bench_->inventory().set_log_fenced(words.size() > 1 ? words[1] : "");
  } else if (name == "sinks") {
    set_sinks(words);
  } else if (name == "group") {
    bench_->open_group();
  } else if (name == "durable") {
    bench_->make_durable();
  } else if (name == "break") {
    bench_->set_broken(true);
    InventoryAccess::break_available(bench_->inventory(), words.at(1), std::stoll(words.at(2)));
  } else if (name == "mend") {
    InventoryAccess::break_available(bench_->inventory(), words.at(1), std::stoll(words.at(2)));
    bench_->set_broken(false);
  } else if (name == "round-up") {
    bench_->set_round_up(duration(words.at(1)));
  } else {
    const std::size_t sign = std::min(name.find_first_of("+-"), name.size());
    move_clocks(name.substr(0, sign), name.substr(sign));
  }
}

/// sinks [NAME LSN [parks ITEM VERSION ID]]...
void Transcript::set_sinks(const std::vector<std::string>& words) {
  auto board = std::make_shared<SinkBoard>();
  for (std::size_t at = 1; at + 1 < words.size(); at += 2) {
    Parked parked;
    const Lsn acked(std::stoull(words[at + 1]));
    board->sinks.push_back({words[at], acked, {}, {}, 0, {}});
    if (at + 2 < words.size() && words[at + 2] == "parks") {
      parked[{words.at(at + 3), ItemVersion(std::stoull(words.at(at + 4))), words.at(at + 5)}] = "no_room";
      at += 4;
    }
    board->sinks.back().parked = std::make_shared<const Parked>(std::move(parked));
  }
  bench_->inventory().set_sinks(std::move(board));
}

void Transcript::move_clocks(std::string_view name, std::string_view by) {
  if (name.empty()) {
    bench_->pass(duration(by));
  } else if (name == "wall") {
    bench_->step_wall(duration(by));
  } else if (name == "hold") {
    bench_->pass_hold(duration(by));
  } else {
    throw std::runtime_error(fmt::format("unknown directive '{}'", name));
  }
}

/// repeat COUNT words...: "$n" in a word becomes 1, 2 ... COUNT; no reply may be an error.
void Transcript::repeat(const std::vector<std::string>& words) {
  const int count = std::stoi(words.at(1));
  for (int n = 1; n <= count; ++n) {
    std::vector<std::string> request(words.begin() + 2, words.end());
    for (std::string& word : request) {
      if (const std::size_t at = word.find("$n"); at != std::string::npos) word.replace(at, 2, std::to_string(n));
    }
    const ReplyValue reply = bench_->run(request);
    if (reply.kind == ReplyValue::Kind::error) return fail(fmt::format("round {}: {}", n, reply.to_text()));
  }
}

void Transcript::set_option(const std::vector<std::string>& words) {
  if (bench_) throw std::runtime_error("options stand before the first command");
  if (words.at(1) == "ended-max") {
    settings_.ended_max = std::stoull(words.at(2));
  } else if (words[1] == "ended-retention") {
    settings_.ended_retention = duration(words.at(2));
  } else if (words[1] == "redis-view-writes") {
    settings_.redis_view_adjusts = words.at(2) == "adjust";
  } else {
    throw std::runtime_error("unknown option " + words[1]);
  }
}

std::string Transcript::substituted(std::string_view text) const {
  static const std::regex kPattern(R"((^|[\s"])#(\d+)|<(wall|start)([+-]\d+)?>)");
  std::string result;
  const std::string source(text);
  auto copied = source.begin();
  for (std::sregex_iterator match(source.begin(), source.end(), kPattern), end; match != end; ++match) {
    result.append(copied, (*match)[0].first);
    if ((*match)[2].matched) {
      result += fmt::format("{}00000000-0000-4000-8000-{:012}", (*match)[1].str(), std::stoull((*match)[2].str()));
    } else {
      const WallTime base = (*match)[3] == "wall" ? bench_->now().wall : start_;
      const long long by = (*match)[4].matched ? std::stoll((*match)[4].str()) : 0;
      result += std::to_string(to_ms(base) + by);
    }
    copied = (*match)[0].second;
  }
  return result.append(copied, source.end());
}

void Transcript::fail(std::string_view what) { failures_.push_back(fmt::format("{}:{}: {}", name_, line_, what)); }

}  // namespace holdfast::testing
