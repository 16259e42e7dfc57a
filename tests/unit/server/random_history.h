// Commands of random histories of a few items, with few users and ids, so that they meet. Any thread.
#pragma once

#include "server/inventory.h"
#include "tests/simulation/seeded_random.h"

#include <string>

namespace holdfast::testing {

inline constexpr const char* kHistoryItems[] = {"a",    "b",    "c",    "d",     "item:1", "item:2",
                                                "{s}a", "{s}b", "{t}a", "x{t}y", "{}z",    "{q"};

/// Of its inventories: what ends is forgotten soon.
Inventory::Settings history_settings();
/// A line of a history; `version`: what a LOAD gives.
std::string random_history_line(simulation::Dice& dice, std::uint64_t version);

}  // namespace holdfast::testing
