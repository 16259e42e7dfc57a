// Damaged logs as real files, one for each row of the recovery table that files alone can show, with what recovery must
// say of them (tests/golden/damaged-v1). Made from the first damage that reaches a row:
//
//   HOLDFAST_CORPUS=tests/golden/damaged-v1 storage_tests -tc=damage*
#pragma once

#include "tests/unit/storage/log_fixture.h"

namespace holdfast::test {

/// Where a new corpus is to be written; empty: nowhere.
const std::string& new_corpus();

/// Writes the log of a disk, and its outcome, into a new folder. A disk whose reads fail leaves nothing to keep.
void keep_damaged(SimulatedDisk disk, const std::string& folder, std::string_view outcome);

/// Puts the log that is kept in a folder onto a disk, as /data/log.
void load_damaged(const std::string& folder, SimulatedDisk& disk);

/// "opens: 18 records, LSN 24": what a recovery that did not refuse found.
std::string opens_with(const LogDriver& driver);

}  // namespace holdfast::test
