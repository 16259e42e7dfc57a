// `holdfastctl reconcile --kafka`: a server's log and the topics of the kafka sink compared; nothing is written. One thread.
#pragma once

#include "tools/control_arguments.h"
#include "tools/kafka_argument.h"

namespace holdfast {

struct ReconcileTopicsWords {
  KafkaWords kafka;
  std::string sink;     // whose cursor; empty: the only one
  bool repair = false;  // say what a person does about each difference
};

/// Prints what differs; a status to end with. Errors: broker or server could not be asked, or the topics are of another log.
Result<int> reconcile_topics(const ReconcileTopicsWords& words, const ServerArguments& arguments);
/// The kinds of differences, for --help.
std::string topic_kinds_text();

}  // namespace holdfast
