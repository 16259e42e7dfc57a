// Streams of requests as nobody sends them, made from the command table: known commands with likely, unlikely and
// missing arguments, inline and as RESP, with broken framing now and then.
#pragma once

#include "tests/simulation/seeded_random.h"

#include <string>

namespace holdfast::test {

class CommandNoise {
 public:
  /// `repeatable`: only commands whose replies depend on the bytes alone, not on when they come.
  CommandNoise(std::uint64_t seed, bool repeatable) : dice_(seed), repeatable_(repeatable) {}

  /// Bytes of about so many requests.
  std::string stream(int requests);

 private:
  std::string request();
  std::string word();
  std::string framing_error();

  simulation::Dice dice_;
  bool repeatable_;
};

}  // namespace holdfast::test
