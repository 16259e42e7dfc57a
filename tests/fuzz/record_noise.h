// Drives an inventory's visitor with records as nobody would write them: an honest inventory makes records, some of
// them are changed in one field on the way, and another inventory must answer each with success or an error and stay
// sound. The bytes decide everything. One thread.
#pragma once

#include <cstdint>
#include <span>

namespace holdfast::fuzz {

/// Runs until the bytes are used up. Stops the process, or a sanitizer does, where something is not as it must be.
void run_record_noise(std::span<const std::uint8_t> bytes);

}  // namespace holdfast::fuzz
