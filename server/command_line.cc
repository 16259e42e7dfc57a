// The shell around CLI11: texts come out of it, and the options' own table judges these.
#include "server/config_file.h"
#include "server/options.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <map>

namespace holdfast {
namespace {

constexpr int kUsageStatus = 64;  // EX_USAGE

struct Given {
  std::uint64_t fold_through = 0;
  long fold_parent = 0;
  bool fold_hurries = false;
  std::map<std::string, std::string, std::less<>> values;
  std::string config;
};

std::string help_text(const OptionEntry& entry) {
  if (entry.kind == OptionKind::flag) return std::string(entry.summary);
  const std::string choices = entry.choices.empty() ? "" : fmt::format(" One of {}.", entry.choices);
  return fmt::format("{}{} Default: {}", entry.summary, choices, entry.initial);
}

void declare(CLI::App& app, Given& given) {
  app.set_version_flag("--version", "holdfastd " HOLDFAST_VERSION);
  app.add_option("--config", given.config,
                 "TOML file whose keys are these options, with users in [users.NAME]; arguments win over it.")
      ->type_name("FILE");
  // How the server starts the process that folds; for nobody else, and not shown.
  app.add_option("--fold", given.fold_through)->group("");
  app.add_option("--fold-parent", given.fold_parent)->group("");
  app.add_option("--fold-hurries", given.fold_hurries)->group("");
  for (const OptionEntry& entry : option_table()) {
    const std::string flag = fmt::format("--{}", entry.name);
    const std::string key(entry.name);
    if (entry.kind == OptionKind::flag) {
      app.add_flag_callback(
          flag, [&given, key] { given.values[key] = "yes"; }, help_text(entry));
      continue;
    }
    app.add_option_function<std::string>(
           flag, [&given, key](const std::string& text) { given.values[key] = text; }, help_text(entry))
        ->type_name(entry.kind == OptionKind::text       ? "TEXT"
                    : entry.kind == OptionKind::duration ? "DURATION"
                                                         : "VALUE");
  }
}

Result<void> apply(const Given& given, CommandLine& line) {
  if (!given.config.empty()) HOLDFAST_TRY(read_config_file(given.config, line));
  for (const auto& [name, text] : given.values) {
    const OptionEntry* entry = find_option(name);
    HOLDFAST_TRY(entry->set(line.options, *entry, text));
  }
  if (given.fold_through != 0) {
    line.fold = {line.options.data_dir, Lsn(given.fold_through), line.options.fold_memory, given.fold_parent,
                 given.fold_hurries};
    return {};
  }
  return check_options(line.options, line.users);
}

CommandLine leave(int status, std::string text) {
  CommandLine line;
  line.leave = true;
  line.exit_status = status;
  line.text = std::move(text);
  return line;
}

}  // namespace

CommandLine read_command_line(int argc, const char* const* argv) {
  CommandLine line;
  CLI::App app("Holdfast: an in-memory stock server that speaks RESP.", "holdfastd");
  Given given;
  try {
    declare(app, given);
    app.parse(argc, argv);
    if (const auto applied = apply(given, line); !applied) {
      return leave(kUsageStatus, fmt::format("holdfastd: {}\n", applied.error().text()));
    }
  } catch (const CLI::Success& success) {
    std::ostringstream out;
    app.exit(success, out, out);
    return leave(0, out.str());
  } catch (const CLI::ParseError& error) {
    return leave(kUsageStatus, fmt::format("holdfastd: {} (--help shows all options)\n", error.what()));
  }
  return line;
}

}  // namespace holdfast
