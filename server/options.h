// The options of holdfastd, from one table. Values only; read-only once the server runs, so any thread may read them.
#pragma once

#include "protocol/error.h"
#include "protocol/types.h"
#include "server/fold_task.h"
#include "server/users.h"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace holdfast {

enum class OptionKind : std::uint8_t { text, choice, flag, count, count_or_auto, count_or_off, bytes, duration };

namespace option_types {
using text = std::string;
using choice = std::string;
using flag = bool;
using count = std::uint64_t;
using count_or_auto = std::optional<std::uint64_t>;  // nothing: auto
/// Nothing: off, which Redis writes as -1.
struct count_or_off : std::optional<std::uint64_t> {  // NOLINT(readability-identifier-naming): a kind of the table
  using std::optional<std::uint64_t>::optional;
};
using bytes = std::uint64_t;
using duration = Millis;
}  // namespace option_types

struct Options {
  /// The defaults of the table.
  Options();

#define HOLDFAST_OPTION(member, name, kind, initial, min, max, choices, summary) option_types::kind member{};
#include "server/options.def"
#undef HOLDFAST_OPTION
};

/// One line of options.def.
struct OptionEntry {
  std::string_view name;
  OptionKind kind;
  std::string_view initial;
  std::uint64_t min;
  std::uint64_t max;
  std::string_view choices;  // separated by "|"
  std::string_view summary;
  bool live;  // may change while the server runs
  Result<void> (*set)(Options&, const OptionEntry&, std::string_view text);
  std::string (*show)(const Options&);
};

std::span<const OptionEntry> option_table() noexcept;
/// Nothing when no option has this name.
const OptionEntry* find_option(std::string_view name) noexcept;

/// What holds between options: bind is a loopback address unless users are configured. The error says what to do.
Result<void> check_options(const Options& options, const Users& users);

/// What main is asked to do.
struct CommandLine {
  Options options;
  Users users;
  std::vector<std::string> warnings;  // for the operator's log, when the server starts
  std::optional<FoldTask> fold;       // a snapshot is to be folded, and nothing served
  bool leave = false;                 // nothing is to be started: --help, --version, or an error
  int exit_status = 0;
  std::string text;  // to be printed: to stdout, or to stderr when the status is not 0
};

/// Reads arguments and, with --config, a TOML file (config_file.h); arguments win. An unknown flag, an unknown key or a
/// bad value is an error that names it. Exceptions of the libraries end here.
CommandLine read_command_line(int argc, const char* const* argv);

}  // namespace holdfast
