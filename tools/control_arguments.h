// What the commands of holdfastctl share: how their words are read, which server they ask and as whom, and how they show
// how far they are. One thread.
#pragma once

#include "tools/resp_client.h"

#include <optional>
#include <span>
#include <string>

namespace CLI {  // NOLINT(readability-identifier-naming): the library's
class App;
}

namespace holdfast {

/// Exit statuses of every command.
inline constexpr int kDone = 0;
inline constexpr int kNotOk = 1;         // what was looked at is not as it should be, or the server refused
inline constexpr int kCouldNotTell = 2;  // wrong arguments, no server, a file that cannot be read

using CommandWords = std::span<const std::string>;

/// The server to ask, as whom, and how to print.
struct ServerArguments {
  std::string server = "127.0.0.1:7379";
  std::string user;
  std::string secret_file;
  bool json = false;
};

/// --server, --user, --secret-file and --json, which may stand before a command's name and after it.
void add_server_options(CLI::App& app, ServerArguments& arguments);

/// Connects and authenticates. Errors as RespClient::connect's and find_credentials'.
Result<std::unique_ptr<RespClient>> connect(const ServerArguments& arguments, std::chrono::seconds timeout);

/// Reads a command's words into what `app` was told of. A status to end with, after an error or --help; nothing: go on.
std::optional<int> read_words(CLI::App& app, CommandWords words);

/// For a terminal: whatever stands in it, it is no command to it.
std::string for_terminal(std::string text);

/// Prints the error to stderr; kCouldNotTell.
int fail(const Error& error);

/// One line on the terminal that is written over again and again; nothing where stderr is none.
class ProgressLine {
 public:
  ProgressLine();
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// Shows it, at most ten times a second.
  void show(std::string_view text);

 private:
  bool terminal_;
  bool shown_ = false;
  std::chrono::steady_clock::time_point next_{};
};

}  // namespace holdfast
