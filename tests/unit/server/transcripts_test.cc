// Plays tests/transcripts/*.txt. One file: transcripts_test -sc=limits.txt
#include "tests/unit/server/transcript.h"

#include "tests/doctest.h"

#include <algorithm>

using namespace holdfast::testing;

TEST_CASE("transcript: every file gets the replies it expects, live, in the replica and when applied again") {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(HOLDFAST_TRANSCRIPTS)) {
    if (entry.path().extension() == ".txt") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  REQUIRE(!files.empty());
  for (const auto& file : files) {
    SUBCASE(file.filename().string().c_str()) {
      for (const std::string& failure : Transcript(file).play()) FAIL_CHECK(failure);
    }
  }
}
