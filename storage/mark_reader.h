// Reads the mark. Survives any bytes: a slot that is not whole is as if it had never been written. Any thread.
#pragma once

#include "storage/file_system.h"
#include "storage/mark_format.h"

#include <optional>

namespace holdfast {

/// What a slot's bytes say; nothing when its magic, version or sum is wrong, or it is cut short.
std::optional<Mark> read_mark_slot(std::span<const std::byte> slot);

/// The newer sound slot of a mark's bytes; nothing when there is none.
std::optional<Mark> newest_mark(std::span<const std::byte> file);

/// Reads the file; nothing when it is missing or neither slot is sound. An error is a failed read.
Result<std::optional<Mark>> read_mark(FileSystem& files, const std::string& path);

}  // namespace holdfast
