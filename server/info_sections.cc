// Every field that a client library or tool is known to parse, and Holdfast's own. A field of something that does not
// exist here is 0.
#include "server/info_sections.h"

#include <algorithm>
#include <cmath>

namespace holdfast {
namespace {

using Text = std::string;

template <class Value>
void line(Text& text, std::string_view name, const Value& value) {
  info_line(text, name, value);
}

/// Fields of what there is not.
void zeros(Text& text, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) line(text, name, 0);
}

/// 1536 as "1.50K", as tools show it.
std::string human(std::uint64_t bytes) {
  const auto number = static_cast<double>(bytes);
  if (bytes < 1_KiB) return fmt::format("{}B", bytes);
  if (bytes < 1_MiB) return fmt::format("{:.2f}K", number / double(1_KiB));
  if (bytes < 1_GiB) return fmt::format("{:.2f}M", number / double(1_MiB));
  return fmt::format("{:.2f}G", number / double(1_GiB));
}

void bytes_line(Text& text, std::string_view name, std::uint64_t bytes) {
  line(text, name, bytes);
  line(text, std::string(name) + "_human", human(bytes));
}

double ratio(std::uint64_t part, std::uint64_t whole) noexcept {
  return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
}

std::string seconds(std::uint64_t micros) { return fmt::format("{}.{:06}", micros / 1'000'000, micros % 1'000'000); }

void server_section(Text& text, const ServerStatus& status) {
  const auto up = status.uptime.count() / 1000;
  line(text, "redis_version", kRedisVersion);
  line(text, "redis_git_sha1", "00000000");
  line(text, "redis_git_dirty", 0);
  line(text, "redis_build_id", "0");
  line(text, "redis_mode", "standalone");
  line(text, "holdfast_version", status.version);
  line(text, "os", status.system);
  line(text, "arch_bits", 64);
  line(text, "monotonic_clock", "POSIX clock_gettime");
  line(text, "multiplexing_api", "epoll");
  line(text, "atomicvar_api", "c11-builtin");
  line(text, "gcc_version", status.compiler);
  line(text, "process_id", status.process_id);
  line(text, "process_supervised", status.supervised ? "systemd" : "no");
  line(text, "run_id", status.run_id);
  line(text, "tcp_port", status.port);
  line(text, "server_time_usec", status.wall_us);
  line(text, "uptime_in_seconds", up);
  line(text, "uptime_in_days", up / 86'400);
  line(text, "hz", 1);
  line(text, "configured_hz", 1);
  line(text, "lru_clock", to_ms(status.wall) / 1000 & 0xffffff);
  line(text, "shards", status.shards);
  line(text, "executable", status.executable);
  line(text, "config_file", status.config_file);
  line(text, "io_threads_active", 0);
}

void clients_section(Text& text, const ServerStatus& status) {
  line(text, "connected_clients", status.connected_clients);
  line(text, "cluster_connections", 0);
  line(text, "maxclients", status.clients_max);
  zeros(text, {"client_recent_max_input_buffer", "client_recent_max_output_buffer"});
  line(text, "blocked_clients", status.waiting_clients);
  line(text, "monitor_clients", status.monitors);
  zeros(text, {"tracking_clients", "clients_in_timeout_table", "total_blocking_keys", "total_blocking_keys_on_nokey"});
}

void memory_section(Text& text, const ServerStatus& status) {
  const std::uint64_t used = status.memory_used_bytes, resident = status.memory_bytes;
  bytes_line(text, "used_memory", used);
  bytes_line(text, "used_memory_rss", resident);
  bytes_line(text, "used_memory_peak", status.memory_peak_bytes);
  line(text, "used_memory_peak_perc", fmt::format("{:.2f}%", 100 * ratio(used, status.memory_peak_bytes)));
  line(text, "used_memory_overhead", used - std::min(used, status.memory_items_bytes));
  line(text, "used_memory_startup", 0);
  line(text, "used_memory_dataset", status.memory_items_bytes);
  line(text, "used_memory_dataset_perc", fmt::format("{:.2f}%", 100 * ratio(status.memory_items_bytes, used)));
  line(text, "allocator_allocated", used);
  line(text, "allocator_active", resident);
  line(text, "allocator_resident", resident);
  bytes_line(text, "total_system_memory", status.memory_system_bytes);
  bytes_line(text, "used_memory_lua", 0);
  bytes_line(text, "used_memory_scripts", 0);
  zeros(text, {"used_memory_vm_eval", "used_memory_scripts_eval", "number_of_cached_scripts", "number_of_functions",
               "number_of_libraries", "used_memory_vm_functions", "used_memory_vm_total", "used_memory_functions"});
  bytes_line(text, "maxmemory", 0);
  line(text, "maxmemory_policy", "noeviction");
  const auto waste = static_cast<std::int64_t>(resident) - static_cast<std::int64_t>(used);
  line(text, "allocator_frag_ratio", fmt::format("{:.2f}", ratio(resident, used)));
  line(text, "allocator_frag_bytes", waste);
  line(text, "allocator_rss_ratio", "1.00");
  line(text, "allocator_rss_bytes", 0);
  line(text, "rss_overhead_ratio", "1.00");
  line(text, "rss_overhead_bytes", 0);
  line(text, "mem_fragmentation_ratio", fmt::format("{:.2f}", ratio(resident, used)));
  line(text, "mem_fragmentation_bytes", waste);
  zeros(text, {"mem_not_counted_for_evict", "mem_replication_backlog", "mem_total_replication_buffers",
               "mem_clients_slaves"});
  line(text, "mem_clients_normal", status.client_bytes);
  zeros(text, {"mem_cluster_links", "mem_aof_buffer"});
  line(text, "mem_allocator", "libc");
  zeros(text, {"active_defrag_running", "lazyfree_pending_objects", "lazyfreed_objects"});
}

void persistence_section(Text& text, const ServerStatus& status) {
  const std::uint64_t pending = status.written_lsn.value() - status.durable_lsn.value();
  line(text, "loading", status.loading ? 1 : 0);
  zeros(text, {"async_loading", "current_cow_peak", "current_cow_size", "current_cow_size_age"});
  line(text, "current_fork_perc", "0.00");
  zeros(text, {"current_save_keys_processed", "current_save_keys_total"});
  line(text, "rdb_changes_since_last_save", pending);
  const SnapshotFigures& snapshot = status.snapshot;
  line(text, "rdb_bgsave_in_progress", snapshot.in_progress ? 1 : 0);
  line(text, "rdb_last_save_time", to_ms(status.last_save) / 1000);
  line(text, "rdb_last_bgsave_status", snapshot.failing ? "err" : "ok");
  line(text, "rdb_last_bgsave_time_sec", snapshot.last < Millis(0) ? -1 : snapshot.last.count() / 1000);
  line(text, "rdb_current_bgsave_time_sec", snapshot.in_progress ? snapshot.running.count() / 1000 : -1);
  line(text, "rdb_saves", snapshot.made);
  zeros(text, {"rdb_last_cow_size", "rdb_last_load_keys_expired"});
  line(text, "rdb_last_load_keys_loaded", 0);
  line(text, "aof_enabled", 1);
  zeros(text, {"aof_rewrite_in_progress", "aof_rewrite_scheduled"});
  line(text, "aof_last_rewrite_time_sec", -1);
  line(text, "aof_current_rewrite_time_sec", -1);
  line(text, "aof_last_bgrewrite_status", "ok");
  zeros(text, {"aof_rewrites", "aof_rewrites_consecutive_failures"});
  // A write that fails ends the process.
  line(text, "aof_last_write_status", "ok");
  zeros(text, {"aof_last_cow_size", "module_fork_in_progress", "module_fork_last_cow_size"});
  line(text, "aof_delayed_fsync", status.slow_flushes);
  if (!status.loading) return;
  const std::uint64_t left =
      status.loading_bytes_total - std::min(status.loading_bytes_total, status.loading_bytes_done);
  const auto passed = static_cast<std::uint64_t>(status.uptime.count()) / 1000;
  line(text, "loading_start_time", to_ms(status.wall - status.uptime) / 1000);
  line(text, "loading_total_bytes", status.loading_bytes_total);
  line(text, "loading_loaded_bytes", status.loading_bytes_done);
  line(text, "loading_loaded_perc",
       fmt::format("{:.2f}", 100 * ratio(status.loading_bytes_done, status.loading_bytes_total)));
  line(text, "loading_eta_seconds", status.loading_bytes_done == 0 ? 1 : 1 + left * passed / status.loading_bytes_done);
}

void holdfast_section(Text& text, const ServerStatus& status) {
  line(text, "log_id", status.log_id);
  line(text, "forked_from_log_id", status.forked_from_log_id);
  line(text, "forked_from_lsn", status.forked_from_lsn.value());
  line(text, "mode", status.mode);
  line(text, "written_lsn", status.written_lsn.value());
  line(text, "durable_lsn", status.durable_lsn.value());
  line(text, "incarnation", status.incarnation);
  line(text, "recovery_ms", status.recovery.count());
  line(text, "hold_clock_ms", to_ms(status.hold));
  line(text, "wall_clock_ms", to_ms(status.wall));
  line(text, "log_alarms", status.log_alarms);
  line(text, "log_space", status.space);
  line(text, "log_free_bytes", status.log_free_bytes);
  line(text, "log_segment", status.log_segment);
  line(text, "log_segment_used_bytes", status.log_segment_used_bytes);
  line(text, "log_batches", status.log_batches);
  line(text, "log_batch_bytes", status.log_batch_bytes);
  line(text, "log_flush_last_us", status.flush_last_us);
  line(text, "log_flush_max_us", status.flush_max_us);
  line(text, "log_slow_flushes", status.slow_flushes);
  line(text, "snapshot_lsn", status.snapshot.lsn.value());
  line(text, "snapshot_bytes", status.snapshot.bytes);
  line(text, "snapshot_made_at_ms", to_ms(status.snapshot.made_at));
  line(text, "snapshot_last_ms", status.snapshot.last.count());
  line(text, "snapshot_last_peak_bytes", status.snapshot.last_peak_bytes);
  line(text, "snapshots_failed", status.snapshot.failed);
  line(text, "log_sinks", status.sinks);
  line(text, "log_slowest_sink", status.slowest_sink);
  line(text, "log_sinks_acked_lsn", status.sinks_acked_lsn.value());
  line(text, "log_sinks_parked", status.sinks_parked);
  line(text, "log_retention_bytes", status.retention_bytes);
  line(text, "log_retention_limit_bytes", status.retention_limit_bytes);
  line(text, "gate_waiting_replies", status.gate_waiting);
}

void stats_section(Text& text, const ServerStatus& status) {
  const auto kilobytes = [](double bytes) { return fmt::format("{:.2f}", bytes / 1024); };
  line(text, "total_connections_received", status.connections_received);
  line(text, "total_commands_processed", status.commands);
  line(text, "instantaneous_ops_per_sec", std::lround(status.commands_per_second));
  line(text, "total_net_input_bytes", status.input_bytes);
  line(text, "total_net_output_bytes", status.output_bytes);
  zeros(text, {"total_net_repl_input_bytes", "total_net_repl_output_bytes"});
  line(text, "instantaneous_input_kbps", kilobytes(status.input_bytes_per_second));
  line(text, "instantaneous_output_kbps", kilobytes(status.output_bytes_per_second));
  line(text, "instantaneous_input_repl_kbps", "0.00");
  line(text, "instantaneous_output_repl_kbps", "0.00");
  line(text, "rejected_connections", status.connections_rejected);
  zeros(text, {"sync_full", "sync_partial_ok", "sync_partial_err"});
  line(text, "expired_keys", status.expired);
  line(text, "expired_stale_perc", "0.00");
  zeros(text, {"expired_time_cap_reached_count", "expire_cycle_cpu_milliseconds", "evicted_keys",
               "total_eviction_exceeded_time", "current_eviction_exceeded_time"});
  line(text, "evicted_clients", status.clients_evicted);
  line(text, "timed_out_clients", status.clients_timed_out);
  line(text, "acl_access_denied_auth", status.wrong_secrets);
  line(text, "acl_access_denied_cmd", status.denied_commands);
  line(text, "keyspace_hits", status.lookups_found);
  line(text, "keyspace_misses", status.lookups_missed);
  line(text, "pubsub_channels", status.pubsub_channels);
  line(text, "pubsub_patterns", status.pubsub_patterns);
  line(text, "pubsubshard_channels", status.pubsub_shard_channels);
  line(text, "client_output_buffer_limit_disconnections", status.slow_subscribers);
  zeros(text, {"latest_fork_usec", "total_forks", "migrate_cached_sockets", "slave_expires_tracked_keys",
               "active_defrag_hits", "active_defrag_misses", "active_defrag_key_hits", "active_defrag_key_misses",
               "total_active_defrag_time", "current_active_defrag_time", "tracking_total_keys", "tracking_total_items",
               "tracking_total_prefixes", "unexpected_error_replies"});
  line(text, "total_error_replies", status.error_replies);
  line(text, "dump_payload_sanitizations", 0);
  line(text, "total_reads_processed", status.reads);
  line(text, "total_writes_processed", status.writes);
  zeros(text, {"io_threaded_reads_processed", "io_threaded_writes_processed", "reply_buffer_shrinks",
               "reply_buffer_expands", "acl_access_denied_key", "acl_access_denied_channel"});
}

void replication_section(Text& text, const ServerStatus& status) {
  line(text, "role", "master");
  line(text, "connected_slaves", 0);
  line(text, "master_failover_state", "no-failover");
  line(text, "master_replid", status.run_id);
  line(text, "master_replid2", std::string(40, '0'));
  line(text, "master_repl_offset", status.durable_lsn.value());
  line(text, "second_repl_offset", -1);
  zeros(text, {"repl_backlog_active", "repl_backlog_size", "repl_backlog_first_byte_offset", "repl_backlog_histlen"});
}

void cpu_section(Text& text, const ServerStatus& status) {
  line(text, "used_cpu_sys", seconds(status.cpu_system_us));
  line(text, "used_cpu_user", seconds(status.cpu_user_us));
  line(text, "used_cpu_sys_children", seconds(status.cpu_children_system_us));
  line(text, "used_cpu_user_children", seconds(status.cpu_children_user_us));
  line(text, "used_cpu_sys_main_thread", seconds(status.cpu_thread_system_us));
  line(text, "used_cpu_user_main_thread", seconds(status.cpu_thread_user_us));
}

void modules_section(Text&, const ServerStatus&) {}

void errorstats_section(Text& text, const ServerStatus& status) {
  for (const auto& [code, count] : status.errors) line(text, "errorstat_" + code, fmt::format("count={}", count));
}

void cluster_section(Text& text, const ServerStatus&) { line(text, "cluster_enabled", 0); }

void keyspace_section(Text& text, const ServerStatus& status) {
  if (status.items > 0) line(text, "db0", fmt::format("keys={},expires=0,avg_ttl=0", status.items));
}

constexpr InfoSection kSections[] = {
    {"Server", server_section},           {"Clients", clients_section},   {"Memory", memory_section},
    {"Persistence", persistence_section}, {"Holdfast", holdfast_section}, {"Stats", stats_section},
    {"Replication", replication_section}, {"CPU", cpu_section},           {"Modules", modules_section},
    {"Errorstats", errorstats_section},   {"Cluster", cluster_section},   {"Keyspace", keyspace_section},
};

}  // namespace

std::span<const InfoSection> info_sections() noexcept { return kSections; }

}  // namespace holdfast
