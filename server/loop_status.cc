// What INFO shows, gathered when somebody asks.
#include "server/loop.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>

namespace holdfast {
namespace {

std::uint64_t micros(const timeval& time) {
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000U + static_cast<std::uint64_t>(time.tv_usec);
}

std::uint64_t resident_bytes() {
  unsigned long long pages = 0;
  std::FILE* file = std::fopen("/proc/self/statm", "re");
  if (file == nullptr) return 0;
  const bool read = std::fscanf(file, "%*u %llu", &pages) == 1;
  std::fclose(file);
  return read ? pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)) : 0;
}

void add_process(ServerStatus& status) {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  status.process_id = static_cast<std::uint64_t>(getpid());
  status.memory_bytes = resident_bytes();
  status.memory_peak_bytes = std::max(static_cast<std::uint64_t>(usage.ru_maxrss) * 1_KiB, status.memory_bytes);
  status.cpu_user_us = micros(usage.ru_utime);
  status.cpu_system_us = micros(usage.ru_stime);
  std::array<char, 4096> path{};
  const ssize_t size = readlink("/proc/self/exe", path.data(), path.size());
  if (size > 0) status.executable.assign(path.data(), static_cast<std::size_t>(size));
}

void add_log(ServerStatus& status, const LogThread& log, SpaceState space) {
  const LogStatus& state = log.status();
  status.log_id.clear();
  for (const std::uint8_t byte : log.identity().id) status.log_id += fmt::format("{:02x}", byte);
  status.incarnation = log.incarnation();
  status.written_lsn = Lsn(state.written_lsn.load());
  status.durable_lsn = Lsn(state.durable_lsn.load());
  status.log_batches = state.batches.load();
  status.log_batch_bytes = state.batch_bytes.load();
  status.log_segment = state.segment.load();
  status.flush_last_us = state.flush_last_ns.load() / 1000;
  status.flush_max_us = state.flush_max_ns.load() / 1000;
  status.slow_flushes = state.slow_flushes.load();
  status.space = space == SpaceState::ok ? "ok" : std::string(space_text(space));
  for (std::size_t i = 0; i < kLogAlarms; ++i) {
    const auto alarm = static_cast<LogAlarm>(i);
    if (state.has(alarm)) status.log_alarms.append(status.log_alarms.empty() ? "" : ",").append(alarm_name(alarm));
  }
}

}  // namespace

ServerStatus Loop::status() {
  ServerStatus status;
  status.version = HOLDFAST_VERSION;
  status.run_id = run_id_;
  status.port = options_.port;
  status.shards = options_.shards;
  status.uptime = boot_ms() - started_;
  status.mode = options_.fsync;
  status.space = "ok";
  status.wall = WallTime(std::chrono::duration_cast<Millis>(reading_.wall));
  status.hold = now_.hold;
  add_process(status);
  const WorkTotals totals = telemetry_.totals();
  status.connected_clients = connections_.open_count();
  status.clients_max = options_.maxclients;
  status.connections_received = totals.connections_received;
  status.connections_rejected = totals.connections_rejected;
  status.clients_evicted = totals.clients_evicted;
  status.clients_timed_out = totals.clients_timed_out;
  status.client_bytes = connections_.held_bytes();
  status.wrong_secrets = totals.wrong_secrets;
  status.denied_commands = totals.denied_commands;
  status.commands = totals.requests;
  status.error_replies = totals.error_replies;
  status.input_bytes = totals.input_bytes;
  status.output_bytes = totals.output_bytes;
  status.loading = loading();
  status.loading_bytes_done = loading_.bytes_done.load();
  status.loading_bytes_total = loading_.bytes_total.load();
  if (shard_ == nullptr) return status;
  status.items = shard_->inventory().item_count();
  status.waiting_clients = shard_->waits();
  status.recovery = recovery_;
  add_log(status, *log_, log_->status().space_at(reading_.boot, options_.slow_flush_max));
  return status;
}

}  // namespace holdfast
