// Plays a transcript: a text file of commands and the replies they must get, run against the step, while a second
// inventory gets the records only; at its end both must show the same. tests/transcripts/README.md tells how a file is
// written. One thread at a time.
#pragma once

#include "tests/unit/server/step_bench.h"

#include <filesystem>
#include <optional>

namespace holdfast::testing {

class Transcript {
 public:
  explicit Transcript(const std::filesystem::path& file);

  /// What did not come as expected, a line each: "file:line: command: got ..., expected ...".
  std::vector<std::string> play();

 private:
  struct Step {
    std::size_t line = 0;
    bool is_command = false;
    std::string text;      // without its mark
    std::string expected;  // the lines below a command, joined
    bool writes_nothing = false;
  };

  void add_line(std::size_t number, std::string_view text);
  void direct(const std::string& text);
  void set_option(const std::vector<std::string>& words);
  void set_sinks(const std::vector<std::string>& words);
  void move_clocks(std::string_view name, std::string_view by);
  void repeat(const std::vector<std::string>& words);
  void command(const Step& step);
  /// "#7" becomes an id, "<wall+300>" a time.
  std::string substituted(std::string_view text) const;
  void fail(std::string_view what);

  std::string name_;
  std::vector<Step> steps_;
  Inventory::Settings settings_;
  std::unique_ptr<StepBench> bench_;
  WallTime start_{};
  std::size_t line_ = 0;  // being played
  std::vector<std::string> failures_;
};

/// The value that an expectation describes.
ReplyValue parse_expected(std::string_view text);

}  // namespace holdfast::testing
