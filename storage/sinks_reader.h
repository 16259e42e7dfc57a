// Reads the file of the sinks. Survives any bytes. Any thread.
#pragma once

#include "storage/file_system.h"
#include "storage/sinks_format.h"

#include <optional>

namespace holdfast {

/// Errors: `damaged` for bytes that no writer makes, `unsupported` for a newer format. The text does not name the file.
Result<Sinks> decode_sinks(std::span<const std::byte> file);

/// Reads the file; nothing when it is missing. Errors name it.
Result<std::optional<Sinks>> read_sinks(FileSystem& files, const std::string& directory);

}  // namespace holdfast
