// The shell around CLI11 and toml++: texts come out of them, and the options' own table judges these.
#include "server/options.h"

#include <fmt/format.h>
#include <toml++/toml.h>
#include <CLI/CLI.hpp>

#include <map>

namespace holdfast {
namespace {

constexpr int kUsageStatus = 64;  // EX_USAGE

struct Given {
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
  app.add_option("--config", given.config, "TOML file whose keys are these options; arguments win over it.")
      ->type_name("FILE");
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

Result<std::string> text_of(std::string_view key, const toml::node& node) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* number = node.as_integer()) return fmt::format_int(number->get()).str();
  if (const auto* flag = node.as_boolean()) return std::string(flag->get() ? "yes" : "no");
  return Error::format(ErrorCode::bad_option, "{}: wants a text, a whole number, true or false", key);
}

Result<void> read_file(const std::string& path, Options& options) {
  const toml::table table = toml::parse_file(path);
  for (const auto& [key, node] : table) {
    const OptionEntry* entry = find_option(key.str());
    const auto line = node.source().begin.line;
    if (entry == nullptr) {
      return Error::format(ErrorCode::bad_option, "{}:{}: unknown key '{}'", path, line, Echo(key.str()).text());
    }
    const auto text = text_of(key.str(), node);
    const auto set = text ? entry->set(options, *entry, *text) : Result<void>(text.error());
    if (!set) return Error::format(ErrorCode::bad_option, "{}:{}: {}", path, line, set.error().text());
  }
  return {};
}

Result<void> apply(const Given& given, Options& options) {
  if (!given.config.empty()) HOLDFAST_TRY(read_file(given.config, options));
  for (const auto& [name, text] : given.values) {
    const OptionEntry* entry = find_option(name);
    HOLDFAST_TRY(entry->set(options, *entry, text));
  }
  return check_options(options);
}

}  // namespace

CommandLine read_command_line(int argc, const char* const* argv) {
  CommandLine line;
  CLI::App app("Holdfast: an in-memory stock server that speaks RESP.", "holdfastd");
  Given given;
  try {
    declare(app, given);
    app.parse(argc, argv);
    if (const auto applied = apply(given, line.options); !applied) {
      return {line.options, true, kUsageStatus, fmt::format("holdfastd: {}\n", applied.error().text())};
    }
  } catch (const CLI::Success& success) {
    std::ostringstream out;
    app.exit(success, out, out);
    return {line.options, true, 0, out.str()};
  } catch (const CLI::ParseError& error) {
    return {line.options, true, kUsageStatus, fmt::format("holdfastd: {} (--help shows all options)\n", error.what())};
  } catch (const toml::parse_error& error) {
    return {line.options, true, kUsageStatus,
            fmt::format("holdfastd: {}:{}: {}\n", given.config, error.source().begin.line, error.description())};
  }
  return line;
}

}  // namespace holdfast
