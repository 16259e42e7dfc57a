// holdfastctl: asks a running server, or looks into a log. Short names for what operators do; anything else is sent to
// the server as it is. Exit status: 0 done, 1 the server refused or something is wrong, 2 wrong arguments or no server.
#include "protocol/command_table.h"
#include "tools/holdfastctl_log.h"
#include "tools/resp_client.h"
#include "tools/user_secret.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <cstdio>

namespace holdfast {
namespace {

using Strings = std::vector<std::string>;

constexpr int kRefused = 1;
constexpr int kUsage = 2;
constexpr std::chrono::seconds kTimeout{30};

int fail(const Error& error) {
  fmt::print(stderr, "holdfastctl: {}\n", error.text());
  return kUsage;
}

class Control {
 public:
  Control(RespClient& client, bool json) : client_(client), json_(json) {}

  /// Sends one request and prints its reply.
  int pass(const Strings& words) {
    const auto reply = client_.ask(words);
    if (!reply) return fail(reply.error());
    return print(*reply);
  }

  /// All pages of ITEM LIST.
  int items(const Strings& filters) {
    Reply all;
    all.kind = Reply::Kind::array;
    std::string cursor = "0";
    do {
      Strings words = {"ITEM", "LIST", "CURSOR", cursor, "COUNT", "1000"};
      words.insert(words.end(), filters.begin(), filters.end());
      auto page = client_.ask(words);
      if (!page) return fail(page.error());
      if (page->is_error() || page->items.size() != 2) return print(*page);
      cursor = page->items[0].text;
      for (Reply& name : page->items[1].items) all.items.push_back(std::move(name));
    } while (cursor != "0");
    if (json_) return print(all);
    for (const Reply& name : all.items) fmt::print("{}\n", name.text);
    return 0;
  }

  /// Counts items anew; the status tells whether all is right.
  int verify(const std::string& item) {
    const auto reply = client_.ask({"ITEM", "VERIFY", item});
    if (!reply) return fail(reply.error());
    if (reply->is_error()) return print(*reply);
    const bool clean = item == "*" ? reply->items.empty() : is_ok(*reply);
    if (item == "*" && clean && !json_) {
      fmt::print("ok\n");
    } else {
      print(*reply);
    }
    return clean ? 0 : kRefused;
  }

  int reservation(const Strings& rest) {
    const bool by_id = rest.size() == 2 && looks_like_id(rest[1]);
    return pass({"RESERVATION", "GET", rest[0], by_id ? "ID" : "USER", rest[1]});
  }

 private:
  static bool looks_like_id(std::string_view text) { return text.size() == 36 && text[8] == '-' && text[13] == '-'; }

  static bool is_ok(const Reply& map) {
    const Reply* ok = map.find("ok");
    return ok != nullptr && (ok->integer == 1 || ok->text == "1" || ok->text == "yes" || ok->text == "true");
  }

  int print(const Reply& reply) const {
    if (json_) {
      fmt::print("{}\n", reply_to_json(reply));
    } else {
      fmt::print("{}", show_reply(reply));
    }
    return reply.is_error() ? kRefused : 0;
  }

  RespClient& client_;
  bool json_;
};

constexpr const char* kFooter = R"(commands:
  ping                          whether the server answers
  items [MATCH pattern] [STATE state]
                                names of all items
  item NAME                     an item's definition, state and counters
  reservation ITEM ID|USER      a reservation, or null
  verify [ITEM]                 counts one item or all anew; status 1 when something is wrong
  user-secret NAME ROLE...      a new secret for a user, and the lines for the server's file
  log dump|verify ...           looks into a log without a server (log --help)
  anything else                 is sent to the server as it is: RESERVE item user, INFO, ITEM LOAD ...)";

int run_command(Control& control, const Strings& words) {
  const std::string& verb = words.front();
  const Strings rest(words.begin() + 1, words.end());
  if (verb == "items") return control.items(rest);
  if (verb == "item" && rest.size() == 1) return control.pass({"ITEM", "GET", rest[0]});
  if (verb == "reservation" && rest.size() == 2) return control.reservation(rest);
  if (verb == "verify" && rest.size() <= 1) return control.verify(rest.empty() ? "*" : rest[0]);
  return control.pass(words);
}

int run(int argc, char** argv) {
  CLI::App app("Asks a Holdfast server.", "holdfastctl");
  std::string server = "127.0.0.1:7379";
  std::string user, secret_file;
  bool json = false;
  app.add_option("--server", server, "The server, 127.0.0.1:7379 if not said.")->type_name("HOST:PORT");
  app.add_option("--user", user, "The user to be, default if not said.")->type_name("NAME");
  app.add_option("--secret-file", secret_file, "Its first line is the secret; else HOLDFASTCTL_AUTH or REDISCLI_AUTH.")
      ->type_name("FILE");
  app.add_flag("--json", json, "Print data as JSON, one line a reply.");
  app.prefix_command();
  app.footer(kFooter);
  CLI11_PARSE(app, argc, argv);
  const Strings words = app.remaining();
  if (words.empty()) {
    fmt::print(stderr, "holdfastctl: no command (--help shows all)\n");
    return kUsage;
  }
  if (words.front() == "log") return log_command(std::span(words).subspan(1));
  if (words.front() == "user-secret") return user_secret_command(std::span(words).subspan(1));
  const auto credentials = find_credentials(user, secret_file);
  if (!credentials) return fail(credentials.error());
  const auto client = RespClient::connect(server, kTimeout, *credentials);
  if (!client) return fail(client.error());
  Control control(**client, json);
  return run_command(control, words);
}

}  // namespace
}  // namespace holdfast

int main(int argc, char** argv) { return holdfast::run(argc, argv); }
