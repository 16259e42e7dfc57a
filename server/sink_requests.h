// The requests about sinks, parsed: LOG ACK, LOG SINKS. Any thread.
#pragma once

#include "protocol/command_table.h"
#include "storage/sink_registry.h"

#include <optional>

namespace holdfast {

/// LOG ACK sink lsn [PARK item version id reason]... [UNPARK item version id]...
Result<SinkAck> parse_log_ack(Words words);

/// LOG SINKS [DROP name CONFIRM]: the sink to be dropped, nothing when they are to be listed.
Result<std::optional<std::string_view>> parse_log_sinks(Words words);

}  // namespace holdfast
