// A property of librdkafka as a command line says it. Secrets come from files, never from the command line, which every
// process on the machine can read. No state; any thread.
#pragma once

#include "replication/kafka_handle.h"

namespace holdfast {

/// NAME=VALUE; of a secret, NAME=@FILE, whose first line it is. Errors: bad_option, for a property on which the sink's promises
/// rest, too; they never repeat a value.
Result<KafkaProperty> parse_kafka_property(std::string_view text);

}  // namespace holdfast
