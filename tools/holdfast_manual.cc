// Writes the manual's pages, or says which of them are stale. A tool of the build.
#include "tools/manual.h"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>

namespace {

constexpr const char* kUsage =
    "usage: holdfast_manual [--check] DIRECTORY\n"
    "\n"
    "Writes the reference pages of commands, errors and options into DIRECTORY; with --check writes nothing and fails\n"
    "when a page there is stale.\n"
    "\n"
    "Examples:\n"
    "  build/release/bin/holdfast_manual tools/manual\n"
    "  build/release/bin/holdfast_manual --check tools/manual\n";

bool is_current(const std::filesystem::path& path, std::string_view text) {
  std::ifstream file(path, std::ios::binary);
  return file && std::string(std::istreambuf_iterator<char>(file), {}) == text;
}

int check(const std::filesystem::path& directory) {
  int stale = 0;
  for (const auto& page : holdfast::manual_pages()) {
    if (is_current(directory / page.name, page.text)) continue;
    std::printf("%s is stale: run build/release/bin/holdfast_manual tools/manual and commit\n",
                (directory / page.name).c_str());
    ++stale;
  }
  return stale == 0 ? 0 : 1;
}

int write(const std::filesystem::path& directory) {
  for (const auto& page : holdfast::manual_pages()) {
    const auto path = directory / page.name;
    std::ofstream file(path, std::ios::binary);
    file << page.text;
    if (!file.flush()) {
      std::fprintf(stderr, "cannot write %s\n", path.c_str());
      return 1;
    }
    std::printf("%s\n", path.c_str());
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view first = argc > 1 ? argv[1] : "";
  if (first == "-h" || first == "--help") {
    std::fputs(kUsage, stdout);
    return 0;
  }
  const bool checks = first == "--check";
  if (argc != (checks ? 3 : 2)) {
    std::fputs(kUsage, stderr);
    return 2;
  }
  return checks ? check(argv[2]) : write(argv[1]);
}
