#include "tools/manual.h"

#include "protocol/command_table.h"
#include "protocol/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <span>

namespace holdfast {
namespace {

constexpr std::string_view kMade =
    "<!-- Made by holdfast_manual from {}; a change goes there, then run build/release/bin/holdfast_manual "
    "tools/manual. -->\n";

/// For a cell of a Markdown table, where a bar would end it.
std::string cell(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '|') out += '\\';
    out += c;
  }
  return out;
}

/// For a line of roff: its escape character, its hyphen, and what would be a request at the start of a line.
std::string roff(std::string_view text) {
  std::string out = text.starts_with('.') || text.starts_with('\'') ? "\\&" : "";
  for (const char c : text) {
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
  }
  return out;
}

std::string roff_head(std::string_view name, int section, std::string_view summary) {
  std::string upper(name);
  std::transform(upper.begin(), upper.end(), upper.begin(),
                 [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
  return fmt::format(".TH {} {} \"\" \"Holdfast\" \"Holdfast\"\n.SH NAME\n{} \\- {}\n", roff(upper), section,
                     roff(name), summary);
}

// Commands.

std::string words_name(const CommandEntry& command) {
  std::string name(command.name);
  if (!command.subcommand.empty()) name.append(" ").append(command.subcommand);
  return name;
}

std::string words_of(const CommandEntry& command) {
  return fmt::format("{}{} words", command.arity < 0 ? "at least " : "", std::abs(command.arity));
}

std::string_view access_name(CommandAccess access) {
  if (access == CommandAccess::read) return "reads";
  return access == CommandAccess::write ? "writes" : "touches no item";
}

std::string role_of(const CommandEntry& command) {
  if (command.role == Role::open) return "no AUTH";
  return command.role == Role::any ? "no role" : fmt::format("role {}", role_name(command.role));
}

/// One sentence: who may, what it does to items, where it is routed, how many words it has.
std::string facts_of(const CommandEntry& command) {
  const auto key = command.key == 0 ? std::string("names no item") : fmt::format("item in argument {}", command.key);
  return fmt::format("Needs {}; {}; {}; {}.", role_of(command), access_name(command.access), key, words_of(command));
}

std::string commands_markdown() {
  std::string out = "# Commands\n\n";
  out += fmt::format(fmt::runtime(kMade), "protocol/commands.def");
  out +=
      "\nNames and option words are read in any case of letters. Words are counted with the command's name, arguments\n"
      "without it. A user needs the role only where users are configured ([options.md](options.md)). What an error's "
      "first\nword means is in [errors.md](errors.md).\n\n| role | what it lets a user do |\n|---|---|\n";
  for (const RoleEntry& role : role_table()) {
    if (find_role(role.name) != nullptr) out += fmt::format("| {} | {} |\n", role.name, cell(role.summary));
  }
  out += "\nNo role includes another; a user may have several.\n\n| command | what it does |\n|---|---|\n";
  for (const auto& command : command_table()) {
    std::string anchor = words_name(command);
    std::transform(anchor.begin(), anchor.end(), anchor.begin(), [](char c) {
      if (c == ' ') return '-';
      return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
    out += fmt::format("| [{}](#{}) | {} |\n", words_name(command), anchor, cell(command.summary));
  }
  for (const auto& command : command_table()) {
    out += fmt::format("\n## {}\n\n    {}\n\n{} {}\n", words_name(command), command.syntax, command.summary,
                       facts_of(command));
  }
  return out;
}

std::string commands_roff() {
  std::string out = roff_head("holdfast-commands", 7, "the commands of holdfastd");
  out += ".SH COMMANDS\n";
  for (const auto& command : command_table()) {
    out += fmt::format(".TP\n.B {}\n{}\n{}\n", roff(command.syntax), roff(command.summary), roff(facts_of(command)));
  }
  return out + ".SH SEE ALSO\n.BR holdfastd (1),\n.BR holdfast\\-errors (7)\n";
}

// Errors. Those of operation share the first word of `err` and are known to people by their name.

bool reaches_clients(const ErrorEntry& error) { return error.code == ErrorCode::err || error.wire != "ERR"; }

std::vector<ErrorEntry> errors_where(bool to_clients) {
  std::vector<ErrorEntry> out;
  std::copy_if(error_table_begin(), error_table_end(), std::back_inserter(out),
               [&](const ErrorEntry& error) { return reaches_clients(error) == to_clients; });
  return out;
}

std::string errors_markdown() {
  std::string out = "# Errors\n\n";
  out += fmt::format(fmt::runtime(kMade), "protocol/errors.def");
  out +=
      "\nOutcomes of the business (sold out, the user's limit, closed ...) are integers, not errors. An error reply "
      "is\n"
      "`-WORD text`: a program looks at the word, a person reads the text.\n\n| word | what it means |\n|---|---|\n";
  for (const auto& error : errors_where(true)) out += fmt::format("| `{}` | {} |\n", error.wire, cell(error.summary));
  out +=
      "\n## Errors of operation\n\nTold to whoever runs a program, by name; they never reach a client.\n\n"
      "| name | what it means |\n|---|---|\n";
  for (const auto& error : errors_where(false)) out += fmt::format("| `{}` | {} |\n", error.name, cell(error.summary));
  return out;
}

std::string errors_roff() {
  std::string out = roff_head("holdfast-errors", 7, "what error replies of holdfastd mean");
  out += ".SH REPLIES\n";
  for (const auto& error : errors_where(true)) {
    out += fmt::format(".TP\n.B {}\n{}\n", roff(error.wire), roff(error.summary));
  }
  out += ".SH ERRORS OF OPERATION\nTold to whoever runs a program; they never reach a client.\n";
  for (const auto& error : errors_where(false)) {
    out += fmt::format(".TP\n.B {}\n{}\n", roff(error.name), roff(error.summary));
  }
  return out + ".SH SEE ALSO\n.BR holdfastd (1),\n.BR holdfast\\-commands (7)\n";
}

// Options.

struct Option {
  std::string_view name;
  std::string_view kind;
  std::string_view initial;
  std::uint64_t min;
  std::uint64_t max;
  std::string_view choices;
  std::string_view summary;
  bool live;
};

constexpr Option kOptions[] = {
#define HOLDFAST_OPTION(member, name, kind, initial, min, max, choices, summary) \
  {name, #kind, initial, min, max, choices, summary, false},
#define HOLDFAST_LIVE_OPTION(member, name, kind, initial, min, max, choices, summary) \
  {name, #kind, initial, min, max, choices, summary, true},
#include "server/options.def"
#undef HOLDFAST_OPTION
};

constexpr std::string_view kUsersMarkdown = R"(
## Users

Without users everybody who reaches the server is the user `default` and may do everything; the server then listens on
loopback only. With users in the file every connection has to authenticate (`AUTH user secret`, `HELLO 3 AUTH user
secret`; `AUTH secret` means the user `default`), and a command needs its role ([commands.md](commands.md)).

    bind = "10.0.0.5"

    [users.shop]
    roles = ["reader", "buyer"]
    secrets = ["sha256:<64 hexadecimal digits>"]

    [users.operator]
    roles = ["reader", "loader", "admin"]
    secrets = ["sha256:<the old one>", "sha256:<the new one>"]
    disabled = false

`holdfastctl user-secret shop reader buyer >> holdfastd.toml` shows a new random secret and adds these lines for it; the
file keeps only the SHA-256 of it, which is safe for random secrets and for no others. Up to four secrets of a user are right at once, so
that one can be replaced without a gap: add the new one, restart, change the clients, take the old one out. The server
reads the file when it starts. It refuses a file that everybody may write, and warns of one that everybody may read.
)";

struct Unit {
  std::string_view name;
  std::uint64_t size;  // in the unit before
};

/// The number in the largest unit in which it is whole.
std::string in_units(std::uint64_t number, std::span<const Unit> units) {
  std::string_view name = units.front().name;
  for (const Unit& unit : units.subspan(1)) {
    if (number == 0 || number % unit.size != 0) break;
    number /= unit.size;
    name = unit.name;
  }
  return fmt::format("{}{}", number, name);
}

std::string number_of(const Option& option, std::uint64_t number) {
  static constexpr Unit kBytes[] = {{"", 1}, {"KiB", 1024}, {"MiB", 1024}, {"GiB", 1024}};
  static constexpr Unit kDurations[] = {{"ms", 1}, {"s", 1000}, {"m", 60}, {"h", 60}, {"d", 24}};
  if (option.kind == "bytes") return in_units(number, kBytes);
  return option.kind == "duration" ? in_units(number, kDurations) : fmt::format("{}", number);
}

/// What may stand behind the option's name; empty for a flag.
std::string values_of(const Option& option) {
  if (option.kind == "flag") return "";
  if (option.kind == "choice") return std::string(option.choices);
  if (option.kind == "text") return "text";
  if (option.kind == "count_or_off") return fmt::format("-1, or {} to {}", option.min, option.max);
  return fmt::format("{} to {}", number_of(option, option.min), number_of(option, option.max));
}

std::string options_markdown() {
  std::string out = "# Options of holdfastd\n\n";
  out += fmt::format(fmt::runtime(kMade), "server/options.def");
  out +=
      "\nEach is a flag (`--port 7379`), a key of the TOML file that `--config` names (`port = 7379`; flags win), and\n"
      "shown by `CONFIG GET`. Bytes are plain or carry `KiB`, `MiB` or `GiB`; durations are milliseconds or carry "
      "`ms`,\n"
      "`s`, `m`, `h` or `d`. `CONFIG SET` changes those marked live, until the server stops.\n\n| option | values | "
      "default | what it does |\n|---|---|---|---|\n";
  for (const Option& option : kOptions) {
    const auto values = option.kind == "flag" ? std::string("flag") : values_of(option);
    out += fmt::format("| `--{}` | {} | {} | {}{} |\n", option.name, cell(values), option.initial, cell(option.summary),
                       option.live ? " (live)" : "");
  }
  return out + std::string(kUsersMarkdown);
}

std::string options_roff() {
  std::string out = roff_head("holdfastd", 1, "in-memory stock server that speaks RESP");
  out += ".SH SYNOPSIS\n.B holdfastd\n[option ...]\n.SH OPTIONS\n";
  out += ".TP\n.B \\-\\-config\nTOML file whose keys are the options below; options on the command line win over it.\n";
  for (const Option& option : kOptions) {
    out += fmt::format(".TP\n.B \\-\\-{} {}\n{}\nDefault: {}\n", roff(option.name), roff(values_of(option)),
                       roff(option.summary), roff(option.initial));
  }
  out +=
      ".SH USERS\nWithout users everybody who reaches the server may do everything, and it listens on loopback only. A "
      "table\n.B [users.NAME]\nof the configuration file has roles (an array of reader, buyer, loader, relay, admin, "
      "metrics; none includes\nanother), secrets (an array of up to four \"sha256:\" and 64 hexadecimal digits) and "
      "may "
      "have disabled = true.\n.B holdfastctl user\\-secret NAME ROLE...\nmakes a secret and these lines.\n";
  return out + ".SH SEE ALSO\n.BR holdfast\\-commands (7),\n.BR holdfast\\-errors (7)\n";
}

// Metrics.

struct Metric {
  std::string_view name;
  std::string_view type;
  std::string_view labels;
  std::string_view info;
  std::string_view help;
};

constexpr Metric kMetrics[] = {
#define HOLDFAST_METRIC(id, name, type, labels, info, help) {name, #type, labels, info, help},
#include "server/metrics.def"
#undef HOLDFAST_METRIC
};

std::string metrics_markdown() {
  std::string out = "# Metrics\n\n";
  out += fmt::format(fmt::runtime(kMade), "server/metrics.def");
  out +=
      "\n`http://127.0.0.1:9379/metrics` (`--metrics-bind`, `--metrics-port`) answers in Prometheus's text format. "
      "INFO\n"
      "shows a number under the field named here; `CONFIG RESETSTAT` makes that one begin anew, never the metric.\n"
      "Single items are told only of the `--metrics-items` (20) asked for most.\n\n"
      "| metric | type | labels | INFO | what it is |\n|---|---|---|---|---|\n";
  for (const Metric& metric : kMetrics) {
    out += fmt::format("| `{}` | {} | {} | {} | {} |\n", metric.name, metric.type, metric.labels, metric.info,
                       cell(metric.help));
  }
  return out;
}

std::string metrics_roff() {
  std::string out = roff_head("holdfast-metrics", 7, "what holdfastd tells Prometheus");
  out += ".SH METRICS\n";
  for (const Metric& metric : kMetrics) {
    const std::string labels = metric.labels.empty() ? "" : fmt::format(" {{{}}}", metric.labels);
    out += fmt::format(".TP\n.B {}{}\n{}: {}\n", roff(metric.name), roff(labels), metric.type, roff(metric.help));
  }
  return out + ".SH SEE ALSO\n.BR holdfastd (1)\n";
}

// holdfastctl.

struct Control {
  std::string_view syntax;
  std::string_view summary;
};

constexpr Control kControls[] = {
#define HOLDFAST_CONTROL(syntax, summary) {syntax, summary},
#include "tools/control_commands.def"
#undef HOLDFAST_CONTROL
};

struct Kind {
  std::string_view name, what, mends, person;
};

constexpr Kind kKinds[] = {
#define HOLDFAST_DIFFERENCE(kind, name, what, mends, person) {name, what, mends, person},
#include "replication/difference_kinds.def"
};

struct TopicKind {
  std::string_view name, what, person;
};

constexpr TopicKind kTopicKinds[] = {
#define HOLDFAST_TOPIC_DIFFERENCE(kind, name, what, person) {name, what, person},
#include "replication/difference_kinds.def"
};

/// What stands in front of a command or behind it.
constexpr Control kControlOptions[] = {
    {"--server HOST:PORT", "The server, 127.0.0.1:7379 if not said."},
    {"--user NAME", "The user to be, default if not said."},
    {"--secret-file FILE",
     "Its first line is the secret; else the variables HOLDFASTCTL_AUTH or REDISCLI_AUTH hold it."},
    {"--json", "Data as JSON, one line a reply."},
    {"--help", "After a command: its own options, and examples."},
};

constexpr std::string_view kControlElse =
    "Anything else is sent to the server as it is: RESERVE item user, INFO, ITEM LOAD ...";
constexpr std::string_view kControlStatuses =
    "Exit status: 0 done; 1 the server refused, or what was looked at is not right; 2 wrong arguments, or no server.";

std::string control_markdown() {
  std::string out = "# holdfastctl\n\n";
  out += fmt::format(fmt::runtime(kMade), "tools/control_commands.def");
  out += "\n| option | what it does |\n|---|---|\n";
  for (const Control& option : kControlOptions) out += fmt::format("| `{}` | {} |\n", option.syntax, option.summary);
  out += "\n| command | what it does |\n|---|---|\n";
  for (const Control& command : kControls) out += fmt::format("| `{}` | {} |\n", cell(command.syntax), command.summary);
  out += fmt::format("\n{}\n\n{}\n", kControlElse, kControlStatuses);
  out +=
      "\n## What reconcile finds\n\n| kind | what it is | `--apply` writes | stays for a person |\n|---|---|---|---|\n";
  for (const Kind& kind : kKinds)
    out += fmt::format("| `{}` | {} | {} | {} |\n", kind.name, kind.what, kind.mends, kind.person);
  out += "\n## What reconcile finds in Kafka's topics\n\n| kind | what it is | stays for a person |\n|---|---|---|\n";
  for (const TopicKind& kind : kTopicKinds)
    out += fmt::format("| `{}` | {} | {} |\n", kind.name, kind.what, kind.person);
  return out;
}

std::string control_roff() {
  std::string out = roff_head("holdfastctl", 1, "asks a Holdfast server, and looks into its files");
  out += ".SH SYNOPSIS\n.B holdfastctl\n[option ...] command [argument ...]\n.SH COMMANDS\n";
  for (const Control& command : kControls) {
    out += fmt::format(".TP\n.B {}\n{}\n", roff(command.syntax), roff(command.summary));
  }
  out += fmt::format(".TP\n.B command argument ...\n{}\n.SH OPTIONS\n", roff(kControlElse));
  for (const Control& option : kControlOptions) {
    out += fmt::format(".TP\n.B {}\n{}\n", roff(option.syntax), roff(option.summary));
  }
  out += ".SH WHAT RECONCILE FINDS\n";
  for (const Kind& kind : kKinds) {
    out += fmt::format(".TP\n.B {}\n{} \\-\\-apply writes: {} For a person: {}\n", roff(kind.name), roff(kind.what),
                       roff(kind.mends), roff(kind.person));
  }
  out += ".SH WHAT RECONCILE FINDS IN KAFKA'S TOPICS\n";
  for (const TopicKind& kind : kTopicKinds) {
    out += fmt::format(".TP\n.B {}\n{} For a person: {}\n", roff(kind.name), roff(kind.what), roff(kind.person));
  }
  return out + fmt::format(".SH EXIT STATUS\n{}\n.SH SEE ALSO\n.BR holdfastd (1),\n.BR holdfast\\-commands (7)\n",
                           roff(kControlStatuses));
}

}  // namespace

std::vector<ManualPage> manual_pages() {
  return {{"holdfastctl.md", control_markdown()},   {"holdfastctl.1", control_roff()},
          {"commands.md", commands_markdown()},     {"errors.md", errors_markdown()},
          {"options.md", options_markdown()},       {"metrics.md", metrics_markdown()},
          {"holdfast-commands.7", commands_roff()}, {"holdfast-errors.7", errors_roff()},
          {"holdfast-metrics.7", metrics_roff()},   {"holdfastd.1", options_roff()}};
}

}  // namespace holdfast
