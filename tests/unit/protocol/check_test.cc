#include "protocol/check.h"

// Kept before doctest takes the name.
static void check_positive(int value) { CHECK(value > 0); }
static bool dcheck_evaluates() {
  bool evaluated = false;
  DCHECK((evaluated = true));
  return evaluated;
}

#include "tests/doctest.h"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <string>

namespace {

struct Death {
  int signal = 0;  // 0: it lived
  std::string said;
};

/// Runs check_positive(value) in a child with its stderr caught.
Death try_in_child(int value) {
  std::array<int, 2> ends{};
  REQUIRE(::pipe(ends.data()) == 0);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::dup2(ends[1], STDERR_FILENO);
    std::signal(SIGABRT, SIG_DFL);  // doctest would report it
    check_positive(value);
    ::_exit(0);
  }
  ::close(ends[1]);
  Death death;
  std::array<char, 256> buffer{};
  for (ssize_t got = 0; (got = ::read(ends[0], buffer.data(), buffer.size())) > 0;) {
    death.said.append(buffer.data(), static_cast<std::size_t>(got));
  }
  ::close(ends[0]);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  if (WIFSIGNALED(status)) death.signal = WTERMSIG(status);
  return death;
}

}  // namespace

TEST_CASE("check: a condition that holds does nothing") {
  const Death death = try_in_child(1);
  CHECK(death.signal == 0);
  CHECK(death.said.empty());
}

TEST_CASE("check: a violated condition aborts and names file and condition") {
  const Death death = try_in_child(0);
  CHECK(death.signal == SIGABRT);
  CHECK(death.said.find("check_test.cc:4: CHECK(value > 0) failed") != std::string::npos);
}

TEST_CASE("check: DCHECK costs nothing in a release build and checks in any other") {
#ifdef NDEBUG
  CHECK_FALSE(dcheck_evaluates());
#else
  CHECK(dcheck_evaluates());
#endif
}
