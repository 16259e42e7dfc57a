#include "tools/control_arguments.h"

#include <fmt/format.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <cstdio>

namespace holdfast {

void add_server_options(CLI::App& app, ServerArguments& arguments) {
  app.add_option("--server", arguments.server, "The server, 127.0.0.1:7379 if not said.")->type_name("HOST:PORT");
  app.add_option("--user", arguments.user, "The user to be, default if not said.")->type_name("NAME");
  app.add_option("--secret-file", arguments.secret_file,
                 "Its first line is the secret; else HOLDFASTCTL_AUTH or REDISCLI_AUTH.")
      ->type_name("FILE");
  app.add_flag("--json", arguments.json, "Print data as JSON, one line a reply.");
}

Result<std::unique_ptr<RespClient>> connect(const ServerArguments& arguments, std::chrono::seconds timeout) {
  const auto credentials = find_credentials(arguments.user, arguments.secret_file);
  if (!credentials) return credentials.error();
  return RespClient::connect(arguments.server, timeout, *credentials);
}

std::optional<int> read_words(CLI::App& app, CommandWords words) {
  std::vector<std::string> reversed(words.rbegin(), words.rend());  // as CLI11 wants them
  try {
    app.parse(std::move(reversed));
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kDone : kCouldNotTell;
  }
  return std::nullopt;
}

std::string for_terminal(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') c = '?';
  }
  return text;
}

int fail(const Error& error) {
  std::fflush(stdout);
  fmt::print(stderr, "holdfastctl: {}\n", error.text());
  return kCouldNotTell;
}

ProgressLine::ProgressLine() : terminal_(isatty(STDERR_FILENO) == 1) {}

ProgressLine::~ProgressLine() {
  if (shown_) fmt::print(stderr, "\r\x1b[K");
}

void ProgressLine::show(std::string_view text) {
  const auto now = std::chrono::steady_clock::now();
  if (!terminal_ || now < next_) return;
  next_ = now + std::chrono::milliseconds(100);
  shown_ = true;
  fmt::print(stderr, "\r\x1b[K{}", text);
  std::fflush(stderr);
}

}  // namespace holdfast
