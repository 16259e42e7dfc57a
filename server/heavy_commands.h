// Commands that are not over at once as the others are. Constant data; any thread.
#pragma once

#include "protocol/command_table.h"

namespace holdfast {

/// Its reply may be large: while it is on its way nothing else of its connection is executed, and a transaction cannot
/// hold it.
bool may_be_large(CommandId id) noexcept;

/// It may take long by itself: it makes a block, and so a measured batch, of its own.
bool takes_long(CommandId id) noexcept;

}  // namespace holdfast
