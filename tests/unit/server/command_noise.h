// Streams of requests as nobody sends them, made from the command table: known commands with likely, unlikely and
// missing arguments, inline and as RESP, with broken framing now and then.
#pragma once

#include "tests/simulation/seeded_random.h"

#include <string>

namespace holdfast::test {

class CommandNoise {
 public:
  explicit CommandNoise(std::uint64_t seed) : dice_(seed) {}

  /// Bytes of about so many requests.
  std::string stream(int requests);

 private:
  std::string request();
  std::string word();
  std::string framing_error();

  simulation::Dice dice_;
};

}  // namespace holdfast::test
