// Writes the file of the sinks. One thread.
#pragma once

#include "storage/file_system.h"
#include "storage/sinks_format.h"

namespace holdfast {

/// The bytes of the file. REQUIRES: within the bounds.
std::vector<std::byte> encode_sinks(const Sinks& sinks);

/// Replaces the file: when this returns the new one is durable; after an error one of the two is there, whole.
Result<void> write_sinks(FileSystem& files, const std::string& directory, const Sinks& sinks);

}  // namespace holdfast
