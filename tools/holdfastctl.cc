// holdfastctl: asks a running server, or looks into a log. Short names for what operators do; anything else is sent to
// the server as it is. Exit statuses are in control_arguments.h.
#include "tools/holdfastctl_backup.h"
#include "tools/holdfastctl_dlt.h"
#include "tools/holdfastctl_explain.h"
#include "tools/holdfastctl_log.h"
#include "tools/holdfastctl_parked.h"
#include "tools/holdfastctl_reconcile.h"
#include "tools/holdfastctl_snapshot.h"
#include "tools/holdfastctl_topic.h"
#include "tools/holdfastctl_verify.h"
#include "tools/user_secret.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <cstdio>

namespace holdfast {
namespace {

using Strings = std::vector<std::string>;

constexpr std::chrono::seconds kTimeout{30};

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

  int reservation(const Strings& rest) {
    const bool by_id = rest.size() == 2 && looks_like_id(rest[1]);
    return pass({"RESERVATION", "GET", rest[0], by_id ? "ID" : "USER", rest[1]});
  }

 private:
  static bool looks_like_id(std::string_view text) { return text.size() == 36 && text[8] == '-' && text[13] == '-'; }

  int print(const Reply& reply) const {
    if (json_) {
      fmt::print("{}\n", reply_to_json(reply));
    } else {
      fmt::print("{}", show_reply(reply));
    }
    return reply.is_error() ? kNotOk : 0;
  }

  RespClient& client_;
  bool json_;
};

struct ControlEntry {
  std::string_view syntax;
  std::string_view summary;
};
constexpr ControlEntry kCommands[] = {
#define HOLDFAST_CONTROL(syntax, summary) {syntax, summary},
#include "tools/control_commands.def"
#undef HOLDFAST_CONTROL
};

std::string footer() {
  std::string text = "commands (COMMAND --help shows options and examples of the longer ones):\n";
  for (const ControlEntry& command : kCommands)
    text += fmt::format("  {}\n      {}\n", command.syntax, command.summary);
  text += "  anything else\n      Is sent to the server as it is: RESERVE item user, INFO, ITEM LOAD ...\n\n";
  text +=
      "exit status: 0 done; 1 the server refused, or what was looked at is not right; 2 wrong arguments, or no "
      "server\n";
  return text;
}

int run_command(Control& control, const Strings& words) {
  const std::string& verb = words.front();
  const Strings rest(words.begin() + 1, words.end());
  if (verb == "items") return control.items(rest);
  if (verb == "item" && rest.size() == 1) return control.pass({"ITEM", "GET", rest[0]});
  if (verb == "reservation" && rest.size() == 2) return control.reservation(rest);
  return control.pass(words);
}

int run(int argc, char** argv) {
  CLI::App app("Asks a Holdfast server.", "holdfastctl");
  ServerArguments arguments;
  add_server_options(app, arguments);
  app.prefix_command();
  app.footer(footer());
  CLI11_PARSE(app, argc, argv);
  const Strings words = app.remaining();
  if (words.empty()) {
    fmt::print(stderr, "holdfastctl: no command (--help shows all)\n");
    return kCouldNotTell;
  }
  const CommandWords rest = CommandWords(words).subspan(1);
  if (words.front() == "log") return log_command(rest);
  if (words.front() == "user-secret") return user_secret_command(rest);
  if (words.front() == "backup") return backup_command(rest, arguments);
  if (words.front() == "restore") return restore_command(rest, arguments);
  if (words.front() == "dlt") return dlt_command(rest, arguments);
  if (words.front() == "explain") return explain_command(rest, arguments);
  if (words.front() == "parked") return parked_command(rest, arguments);
  if (words.front() == "reconcile") return reconcile_command(rest, arguments);
  if (words.front() == "snapshot") return snapshot_command(rest, arguments);
  if (words.front() == "topic") return topic_command(rest, arguments);
  if (words.front() == "verify") return verify_command(rest, arguments);
  const auto client = connect(arguments, kTimeout);
  if (!client) return fail(client.error());
  Control control(**client, arguments.json);
  return run_command(control, words);
}

}  // namespace
}  // namespace holdfast

int main(int argc, char** argv) { return holdfast::run(argc, argv); }
