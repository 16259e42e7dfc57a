// The kafka sink: orders and events as records of two topics, exactly once for consumers that read committed records, in the
// order of each item.
//
//   open     check topics and brokers; take the transactional id over, which fences every earlier relay and undoes what it
//            left open; read the cursor topic to its end; write the cursor under the next epoch
//   apply    one transaction: orders, events, what items are, the cursor as its last record
//   untold   with nothing to write, a transaction with the cursor alone: who was fenced learns it
//
// An interrupt ends these by kKafkaAnswerTime, and soon unless topics are asked for.
//
// Every error leaves it unknown whether the transaction took place: the producer is given up, and open() finds out. Blocking;
// one thread.
#pragma once

#include "replication/event_sink.h"
#include "replication/kafka_handle.h"

#include <memory>

namespace holdfast {

struct KafkaSinkSettings {
  std::string name;  // of the cursor, and to the server
  KafkaAccess access;
  std::string orders_topic = kKafkaOrdersTopic;  // empty: no orders, only events
  std::string events_topic = kKafkaEventsTopic;
  std::string cursor_topic = kKafkaCursorTopic;
  std::vector<KafkaHeader> headers;  // of every order and event
  bool accept_partitions = false;
  bool allow_unreplicated = false;
};

/// Connects in open(), and anew in each open().
std::unique_ptr<EventSink> make_kafka_sink(KafkaSinkSettings settings);

}  // namespace holdfast
