// What INFO and HELLO tell about the server. A value, filled by the loop when somebody asks.
#pragma once

#include "server/snapshot_board.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast {

/// The Redis version whose answers clients may expect.
inline constexpr std::string_view kRedisVersion = "7.2.4";

struct ServerStatus {
  // The process.
  std::string version;  // Holdfast's own
  std::string run_id;   // 40 hexadecimal digits, new at every start
  std::uint64_t process_id = 0;
  std::uint64_t port = 0;
  Millis uptime{};
  std::uint64_t shards = 0;
  std::string executable;
  std::string config_file;
  std::string system;    // as uname tells it
  std::string compiler;  // its version
  bool supervised = false;

  // The log and the clocks.
  bool loading = false;
  std::uint64_t loading_bytes_total = 0;
  std::uint64_t loading_bytes_done = 0;
  Millis recovery{};               // how long it took
  std::string log_id;              // 32 hexadecimal digits, empty while loading
  std::string forked_from_log_id;  // empty: no fork
  Lsn forked_from_lsn;
  std::uint64_t sinks = 0;
  std::string slowest_sink;  // empty: there is none
  Lsn sinks_acked_lsn;       // by it
  std::uint64_t sinks_parked = 0;
  std::uint64_t retention_bytes = 0;  // that it keeps from going
  std::uint64_t retention_limit_bytes = 0;
  std::uint64_t incarnation = 0;
  Lsn written_lsn;
  Lsn durable_lsn;
  std::string mode;        // always, everysec, never
  std::string log_alarms;  // names separated by commas
  std::uint64_t log_batches = 0;
  std::uint64_t log_batch_bytes = 0;
  std::uint64_t log_segment = 0;
  std::uint64_t log_segment_used_bytes = 0;
  std::uint64_t log_free_bytes = 0;
  std::uint64_t gate_waiting = 0;  // replies that wait for the log
  std::uint64_t flush_last_us = 0;
  std::uint64_t flush_max_us = 0;
  std::uint64_t slow_flushes = 0;
  SnapshotFigures snapshot;
  std::string space;  // ok, or why new reservations are refused
  HoldTime hold;
  WallTime wall;
  std::int64_t wall_us = 0;
  WallTime last_save;  // when all that was answered was on the disk, or the start

  // Work.
  std::uint64_t items = 0;
  std::uint64_t connected_clients = 0;
  std::uint64_t clients_max = 0;
  std::uint64_t waiting_clients = 0;
  std::uint64_t monitors = 0;
  std::uint64_t connections_received = 0;
  std::uint64_t connections_rejected = 0;
  std::uint64_t clients_evicted = 0;    // closed for their memory
  std::uint64_t clients_timed_out = 0;  // closed because a deadline was over
  std::uint64_t client_bytes = 0;       // what they hold in requests and replies
  std::uint64_t wrong_secrets = 0;
  std::uint64_t denied_commands = 0;
  std::uint64_t commands = 0;
  std::uint64_t input_bytes = 0;
  std::uint64_t output_bytes = 0;
  std::uint64_t error_replies = 0;
  std::uint64_t expired = 0;  // reservations
  std::uint64_t pubsub_channels = 0;
  std::uint64_t pubsub_patterns = 0;
  std::uint64_t pubsub_shard_channels = 0;
  std::uint64_t slow_subscribers = 0;                         // closed
  std::vector<std::pair<std::string, std::uint64_t>> errors;  // by code
  std::uint64_t lookups_found = 0;                            // of items by name, by commands
  std::uint64_t lookups_missed = 0;
  std::uint64_t reads = 0;  // of sockets
  std::uint64_t writes = 0;
  double commands_per_second = 0;
  double input_bytes_per_second = 0;
  double output_bytes_per_second = 0;
  std::uint64_t memory_used_bytes = 0;  // given out by the allocator
  std::uint64_t memory_bytes = 0;       // resident
  std::uint64_t memory_peak_bytes = 0;
  std::uint64_t memory_items_bytes = 0;
  std::uint64_t memory_system_bytes = 0;  // of the machine
  std::uint64_t cpu_user_us = 0;
  std::uint64_t cpu_system_us = 0;
  std::uint64_t cpu_children_user_us = 0;
  std::uint64_t cpu_children_system_us = 0;
  std::uint64_t cpu_thread_user_us = 0;  // this thread's share
  std::uint64_t cpu_thread_system_us = 0;
};

}  // namespace holdfast
