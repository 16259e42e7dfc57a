// `holdfastctl log repair`: what a damaged log would lose, and the repair. One thread.
#pragma once

#include <string>

namespace holdfast {

struct RepairArguments {
  std::string directory;
  bool accept_loss = false;
  bool json = false;
};

/// Examples and statuses, for --help.
extern const char* const kRepairExamples;

/// The process's exit status: kDone the log is sound, or was repaired; kNotOk it is not, and nothing was changed;
/// kCouldNotTell it could not be looked at, or the repair failed (a repeated one goes on).
int repair_log(const RepairArguments& arguments);

}  // namespace holdfast
