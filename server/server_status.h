// What INFO and HELLO tell about the server. A value, filled by the loop when somebody asks.
#pragma once

#include "protocol/types.h"

#include <cstdint>
#include <string>
#include <string_view>

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

  // The log and the clocks.
  bool loading = false;
  std::uint64_t loading_bytes_total = 0;
  std::uint64_t loading_bytes_done = 0;
  Millis recovery{};   // how long it took
  std::string log_id;  // 32 hexadecimal digits, empty while loading
  std::uint64_t incarnation = 0;
  Lsn written_lsn;
  Lsn durable_lsn;
  std::string mode;        // always, everysec, never
  std::string log_alarms;  // names separated by commas
  std::uint64_t log_batches = 0;
  std::uint64_t log_batch_bytes = 0;
  std::uint64_t log_segment = 0;
  std::uint64_t flush_last_us = 0;
  std::uint64_t flush_max_us = 0;
  std::uint64_t slow_flushes = 0;
  std::string space;  // ok, or why new reservations are refused
  HoldTime hold;
  WallTime wall;

  // Work.
  std::uint64_t items = 0;
  std::uint64_t connected_clients = 0;
  std::uint64_t clients_max = 0;
  std::uint64_t waiting_clients = 0;
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
  std::uint64_t memory_bytes = 0;  // resident
  std::uint64_t memory_peak_bytes = 0;
  std::uint64_t cpu_user_us = 0;
  std::uint64_t cpu_system_us = 0;
};

}  // namespace holdfast
