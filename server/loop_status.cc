// What INFO shows, gathered when somebody asks.
#include "server/log_stream_thread.h"
#include "server/loop.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <malloc.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

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

/// Under a sanitizer the C library's allocator is not the one in use; then what is resident has to do.
std::uint64_t allocated_bytes() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

void add_machine(ServerStatus& status) {
  utsname name{};
  if (uname(&name) == 0) status.system = fmt::format("{} {} {}", name.sysname, name.release, name.machine);
  status.compiler = __VERSION__;
  status.supervised = std::getenv("NOTIFY_SOCKET") != nullptr;
  status.memory_system_bytes =
      static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

void add_process(ServerStatus& status) {
  rusage usage{}, children{}, thread{};
  getrusage(RUSAGE_SELF, &usage);
  getrusage(RUSAGE_CHILDREN, &children);
  getrusage(RUSAGE_THREAD, &thread);
  status.process_id = static_cast<std::uint64_t>(getpid());
  status.memory_bytes = resident_bytes();
  status.memory_peak_bytes = std::max(static_cast<std::uint64_t>(usage.ru_maxrss) * 1_KiB, status.memory_bytes);
  status.cpu_user_us = micros(usage.ru_utime);
  status.cpu_system_us = micros(usage.ru_stime);
  status.cpu_children_user_us = micros(children.ru_utime);
  status.cpu_children_system_us = micros(children.ru_stime);
  status.cpu_thread_user_us = micros(thread.ru_utime);
  status.cpu_thread_system_us = micros(thread.ru_stime);
  add_machine(status);
  std::array<char, 4096> path{};
  const ssize_t size = readlink("/proc/self/exe", path.data(), path.size());
  if (size > 0) status.executable.assign(path.data(), static_cast<std::size_t>(size));
}

void add_log(ServerStatus& status, const LogThread& log, const SinkBoard& sinks, SpaceState space) {
  const LogStatus& state = log.status();
  const LogIdentity& identity = log.identity();
  status.log_id = log_id_text(identity.id);
  status.forked_from_log_id = identity.forked_from_id == kNoLogId ? "" : log_id_text(identity.forked_from_id);
  status.forked_from_lsn = identity.forked_from_lsn;
  const SinkBoard::Entry* slowest = sinks.slowest();
  status.sinks = sinks.sinks.size();
  status.slowest_sink = slowest == nullptr ? "" : slowest->name;
  status.sinks_acked_lsn = slowest == nullptr ? Lsn() : slowest->acked;
  status.sinks_parked = sinks.parked();
  status.retention_bytes = sinks.held_bytes;
  status.retention_limit_bytes = sinks.held_bytes_max;
  status.incarnation = log.incarnation();
  status.written_lsn = Lsn(state.written_lsn.load());
  status.durable_lsn = Lsn(state.durable_lsn.load());
  status.log_batches = state.batches.load();
  status.log_batch_bytes = state.batch_bytes.load();
  status.log_segment = state.segment.load();
  status.log_segment_used_bytes = state.segment_used_bytes.load();
  status.log_free_bytes = state.free_bytes.load();
  status.flush_last_us = state.flush_last_ns.load() / 1000;
  status.flush_max_us = state.flush_max_ns.load() / 1000;
  status.slow_flushes = state.slow_flushes.load();
  const std::string_view refused = refusal_of(space, sinks);
  status.space = refused.empty() ? "ok" : std::string(refused);
  for (std::size_t i = 0; i < kLogAlarms; ++i) {
    const auto alarm = static_cast<LogAlarm>(i);
    if (state.has(alarm)) status.log_alarms.append(status.log_alarms.empty() ? "" : ",").append(alarm_name(alarm));
  }
}

}  // namespace

ServerStatus Loop::status() {
  ServerStatus status;
  status.version = HOLDFAST_VERSION;
  status.run_id = hub_.run_id();
  status.port = options_.port;
  status.shards = hub_.threads();
  status.uptime = boot_ms() - started_;
  status.mode = options_.fsync;
  status.space = "ok";
  status.wall = WallTime(std::chrono::duration_cast<Millis>(reading_.wall));
  status.hold = now_.hold;
  status.wall_us = std::chrono::duration_cast<std::chrono::microseconds>(reading_.wall).count();
  status.last_save = last_save_;
  add_process(status);
  const SharedTelemetry& all = hub_.telemetry;
  const WorkTotals totals = all.totals();
  status.connected_clients = hub_.admissions.open_count();
  status.clients_max = options_.maxclients;
  status.connections_received = totals.connections_received;
  status.connections_rejected = totals.connections_rejected;
  status.clients_evicted = totals.clients_evicted;
  status.clients_timed_out = totals.clients_timed_out;
  status.wrong_secrets = totals.wrong_secrets;
  status.denied_commands = totals.denied_commands;
  status.commands = totals.requests;
  status.error_replies = totals.error_replies;
  status.expired = totals.expired;
  status.input_bytes = totals.input_bytes;
  status.output_bytes = totals.output_bytes;
  status.pubsub_channels = hub_.pubsub.count(ChannelKind::channel);
  status.pubsub_patterns = hub_.pubsub.count(ChannelKind::pattern);
  status.pubsub_shard_channels = hub_.pubsub.count(ChannelKind::shard_channel);
  status.slow_subscribers = totals.slow_subscribers;
  status.reads = totals.reads;
  status.writes = totals.writes;
  status.commands_per_second = commands_rate_.per_second();
  status.input_bytes_per_second = input_rate_.per_second();
  status.output_bytes_per_second = output_rate_.per_second();
  for (const auto& [word, count] : all.error_totals()) status.errors.emplace_back(word, count);
  status.client_bytes = all.sum([](const ThreadStats& stats) -> auto& { return stats.connection_bytes; });
  status.memory_used_bytes = std::max(allocated_bytes(), status.client_bytes);
  status.memory_items_bytes = status.memory_used_bytes - status.client_bytes;
  status.memory_peak_bytes = std::max(status.memory_peak_bytes, status.memory_used_bytes);
  status.monitors = hub_.monitors.load();
  status.waiting_clients = all.sum([](const ThreadStats& stats) -> auto& { return stats.client_waits; }) +
                           all.sum([](const ThreadStats& stats) -> auto& { return stats.waits; });
  status.snapshot = hub_.snapshots.figures(reading_.boot);
  status.loading = loading();
  status.loading_bytes_done = hub_.loading.bytes_done.load();
  status.loading_bytes_total = hub_.loading.bytes_total.load();
  if (shard_ == nullptr) return status;
  status.items = all.sum([](const ThreadStats& stats) -> auto& { return stats.items; });
  status.lookups_found = all.sum([](const ThreadStats& stats) -> auto& { return stats.lookups_found; });
  status.lookups_missed = all.sum([](const ThreadStats& stats) -> auto& { return stats.lookups_missed; });
  status.gate_waiting = all.sum([](const ThreadStats& stats) -> auto& { return stats.gate_waiting; });
  status.recovery = recovery_;
  add_log(status, *log_, *hub_.log_stream->board(), log_->status().space_at(reading_.boot, options_.slow_flush_max));
  // Nothing that was answered waits for a flush: all is saved as of now.
  if (status.written_lsn == status.durable_lsn) status.last_save = status.wall;
  return status;
}

}  // namespace holdfast
