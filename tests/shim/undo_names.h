// Undoing changes of names after a power cut. One thread.
#pragma once

#include "tests/shim/pending.h"
#include "tests/simulation/crash_chooser.h"

namespace holdfast::shim {

/// Paths of all files below `root`, with their inodes.
std::map<std::string, std::uint64_t> names_below(const std::string& root);

/// Puts the names below `root` as the chooser decides for each change that no directory sync covered. How many
/// changes there were to decide on.
std::size_t undo_names(const std::string& root, const std::vector<const JournalRecord*>& changes,
                       simulation::CrashChooser& chooser);

}  // namespace holdfast::shim
