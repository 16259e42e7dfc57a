// An inventory whose owner changes items while readers answer from its views, on a ViewScheduler, and the truth to hold
// the answers against: every state that the items had, when it stood, and in which group of the log it is.
//
// An answer is right if it is what some state says that stood between the moment the question was asked and the answer,
// and that was durable then. So it is never older than anything that anybody knew when the question was asked.
#pragma once

#include "tests/unit/server/view_scheduler.h"

#include <optional>
#include <string>

namespace holdfast::testing {

/// Lines are commands, or of the owner's:
///   @seal  the open group goes to the log     @durable  that is durable (after a @seal if there is none)
///   @build filters                            @sweep    @+5ms  both clocks go on     @wall+5ms  the wall clock alone
struct ViewProgram {
  std::vector<std::string> setup;  // of the owner, before the readers begin
  std::vector<std::string> owner;
  std::vector<std::vector<std::string>> readers;  // RESERVE

  std::string text() const;
};

struct ViewRun {
  std::string violation;      // empty: none
  std::uint64_t answers = 0;  // given from views
};

ViewRun run_views(const ViewProgram& program, const ViewScheduler::Choose& choose);

/// The same for the same seed: program and schedule.
ViewProgram random_view_program(std::uint64_t seed);
ViewRun run_random_views(std::uint64_t seed);

}  // namespace holdfast::testing
