#include "tools/holdfastctl_verify.h"

#include "storage/record_lines.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include <cstdio>

namespace holdfast {
namespace {

namespace json = boost::json;

constexpr std::chrono::seconds kTimeout{120};  // a large item is counted row by row
constexpr std::size_t kItemsAtOnce = 64;
constexpr const char* kAllItems = "*";
constexpr const char* kExamples =
    R"(Each item is counted anew from its rows (ITEM VERIFY), and its counters must add up to its total (ITEM GET). Items are
asked for one by one, so that sales go on meanwhile.

examples:
  holdfastctl verify                       all items
  holdfastctl verify item:1001 item:1002   these
  holdfastctl verify --json                one object: items, ok, not-ok

exit status: 0 all are right; 1 some are not, or are fenced; 2 the server could not be asked)";

/// What one item is and what is wrong with it.
struct Verdict {
  json::object shown;
  std::vector<std::string> problems;
};

std::int64_t number_of(const Reply& map, std::string_view key) {
  const Reply* value = map.find(key);
  return value == nullptr ? 0 : value->integer;
}

Verdict judge(const Reply& verified, const Reply& got) {
  Verdict verdict;
  const Reply* name = got.find("item");
  verdict.shown["item"] = percent_escaped(name == nullptr ? "" : name->text);
  for (const char* key : {"version", "sequence", "total", "available", "reserved", "confirmed", "held"}) {
    verdict.shown[key] = number_of(got, key);
  }
  verdict.shown["rows"] = number_of(verified, "rows");
  const Counters counters{number_of(got, "available"), number_of(got, "reserved"), number_of(got, "confirmed"),
                          number_of(got, "held")};
  if (!lawful(counters, number_of(got, "total"))) verdict.problems.emplace_back("counters do not add up to the total");
  if (number_of(verified, "ok") != 1) {
    verdict.problems.push_back(fmt::format("its rows count {} reserved, {} confirmed", number_of(verified, "reserved"),
                                           number_of(verified, "confirmed")));
  }
  if (const auto sequence = number_of(got, "fenced"); sequence != 0) {
    verdict.problems.push_back(fmt::format("fenced at sequence {}", sequence));
  }
  return verdict;
}

class Verification {
 public:
  explicit Verification(RespClient& client) : client_(client) {}

  Result<void> all();
  /// `may_be_gone`: one that the server does not know any more is none.
  Result<void> these(CommandWords names, bool may_be_gone);
  int print(bool as_json) const;

 private:
  Result<void> some(CommandWords names, bool may_be_gone);
  Error refused(const Reply& reply) const { return Error::format(ErrorCode::err, "the server says: {}", reply.text); }

  RespClient& client_;
  ProgressLine progress_;
  std::size_t items_ = 0;
  std::vector<Verdict> broken_;
};

Result<void> Verification::all() {
  std::vector<std::string> names;
  std::string cursor = "0";
  do {
    auto page = client_.ask({"ITEM", "LIST", "CURSOR", cursor, "COUNT", "1000"});
    if (!page) return page.error();
    if (page->is_error() || page->items.size() != 2) return refused(*page);
    cursor = page->items[0].text;
    // One that is called as what means all of them stands in braces.
    for (const Reply& name : page->items[1].items) names.push_back(name.text == kAllItems ? "{*}" : name.text);
  } while (cursor != "0");
  return these(names, true);
}

Result<void> Verification::these(CommandWords names, bool may_be_gone) {
  for (std::size_t at = 0; at < names.size(); at += kItemsAtOnce) {
    progress_.show(fmt::format("{} of {} items", at, names.size()));
    HOLDFAST_TRY(some(names.subspan(at, std::min(kItemsAtOnce, names.size() - at)), may_be_gone));
  }
  return {};
}

Result<void> Verification::some(CommandWords names, bool may_be_gone) {
  std::vector<std::vector<std::string>> requests;
  for (const std::string& name : names) {
    requests.push_back({"ITEM", "VERIFY", name});
    requests.push_back({"ITEM", "GET", name});
  }
  const auto replies = client_.ask_all(requests);
  if (!replies) return replies.error();
  for (std::size_t i = 0; i < replies->size(); i += 2) {
    const Reply& verified = (*replies)[i];
    const Reply& got = (*replies)[i + 1];
    const Reply& answer = verified.is_error() ? verified : got;
    if (may_be_gone && answer.is_error() && answer.text.starts_with("NOITEM")) continue;
    if (answer.is_error()) return refused(answer);
    ++items_;
    if (auto verdict = judge(verified, got); !verdict.problems.empty()) broken_.push_back(std::move(verdict));
  }
  return {};
}

int Verification::print(bool as_json) const {
  if (as_json) {
    json::array not_ok;
    for (const Verdict& verdict : broken_) {
      json::object line = verdict.shown;
      json::array problems;
      for (const std::string& problem : verdict.problems) problems.emplace_back(problem);
      line["problems"] = std::move(problems);
      not_ok.push_back(std::move(line));
    }
    json::object all;
    all["items"] = items_;
    all["ok"] = broken_.empty();
    all["not-ok"] = std::move(not_ok);
    fmt::print("{}\n", render(all, true));
  } else {
    for (const Verdict& verdict : broken_) {
      fmt::print("{}: {}\n", render(verdict.shown, false), fmt::join(verdict.problems, "; "));
    }
    if (broken_.empty()) {
      fmt::print("ok: {} items\n", items_);
    } else {
      fmt::print("{} of {} items are not ok\n", broken_.size(), items_);
    }
  }
  return broken_.empty() ? kDone : kNotOk;
}

}  // namespace

int verify_command(CommandWords words, ServerArguments arguments) {
  std::vector<std::string> items;
  CLI::App app("Checks the law on a live server: available + reserved + confirmed + held = total, of each item.",
               "holdfastctl verify");
  app.add_option("item", items, "Items; all if none is named")->type_name("ITEM");
  add_server_options(app, arguments);
  app.footer(kExamples);
  if (const auto status = read_words(app, words)) return *status;
  const auto client = connect(arguments, kTimeout);
  if (!client) return fail(client.error());
  Verification verification(**client);
  const bool all = items.empty() || items == std::vector<std::string>{kAllItems};
  const auto done = all ? verification.all() : verification.these(items, false);
  return done ? verification.print(arguments.json) : fail(done.error());
}

}  // namespace holdfast
