// INFO: sections of "name:value" lines that end in CR LF, with every field that a client library or tool is known to
// parse, and Holdfast's own.
#include "server/info_telemetry.h"
#include "server/options.h"
#include "server/session.h"
#include "server/session_commands.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace holdfast {
namespace {

using Text = std::string;

template <class Value>
void line(Text& text, std::string_view name, const Value& value) {
  fmt::format_to(std::back_inserter(text), "{}:{}\r\n", name, value);
}

/// 1536 as "1.50K", as tools show it.
std::string human(std::uint64_t bytes) {
  const auto number = static_cast<double>(bytes);
  if (bytes < 1_KiB) return fmt::format("{}B", bytes);
  if (bytes < 1_MiB) return fmt::format("{:.2f}K", number / double(1_KiB));
  if (bytes < 1_GiB) return fmt::format("{:.2f}M", number / double(1_MiB));
  return fmt::format("{:.2f}G", number / double(1_GiB));
}

void server_section(Text& text, const ServerStatus& status) {
  const auto seconds = status.uptime.count() / 1000;
  line(text, "redis_version", kRedisVersion);
  line(text, "redis_git_sha1", "00000000");
  line(text, "redis_git_dirty", 0);
  line(text, "redis_mode", "standalone");
  line(text, "holdfast_version", status.version);
  line(text, "os", "Linux");
  line(text, "arch_bits", 64);
  line(text, "multiplexing_api", "epoll");
  line(text, "process_id", status.process_id);
  line(text, "run_id", status.run_id);
  line(text, "tcp_port", status.port);
  line(text, "server_time_usec", to_ms(status.wall) * 1000);
  line(text, "uptime_in_seconds", seconds);
  line(text, "uptime_in_days", seconds / 86'400);
  line(text, "hz", 1);
  line(text, "shards", status.shards);
  line(text, "executable", status.executable);
  line(text, "config_file", status.config_file);
}

void clients_section(Text& text, const ServerStatus& status) {
  line(text, "connected_clients", status.connected_clients);
  line(text, "cluster_connections", 0);
  line(text, "maxclients", status.clients_max);
  line(text, "blocked_clients", status.waiting_clients);
  line(text, "tracking_clients", 0);
}

void memory_section(Text& text, const ServerStatus& status) {
  line(text, "used_memory", status.memory_bytes);
  line(text, "used_memory_human", human(status.memory_bytes));
  line(text, "used_memory_rss", status.memory_bytes);
  line(text, "used_memory_rss_human", human(status.memory_bytes));
  line(text, "used_memory_peak", status.memory_peak_bytes);
  line(text, "used_memory_peak_human", human(status.memory_peak_bytes));
  line(text, "mem_clients_normal", status.client_bytes);
  line(text, "maxmemory", 0);
  line(text, "maxmemory_human", "0B");
  line(text, "maxmemory_policy", "noeviction");
  line(text, "mem_fragmentation_ratio", "1.00");
  line(text, "mem_allocator", "libc");
}

void persistence_section(Text& text, const ServerStatus& status) {
  line(text, "loading", status.loading ? 1 : 0);
  if (status.loading) {
    line(text, "loading_total_bytes", status.loading_bytes_total);
    line(text, "loading_loaded_bytes", status.loading_bytes_done);
    line(text, "loading_eta_seconds", 1);
  }
  line(text, "async_loading", 0);
  line(text, "rdb_changes_since_last_save", 0);
  line(text, "rdb_bgsave_in_progress", 0);
  line(text, "rdb_last_bgsave_status", "ok");
  line(text, "aof_enabled", 1);
  line(text, "aof_rewrite_in_progress", 0);
  line(text, "aof_last_write_status", "ok");
}

void log_section(Text& text, const ServerStatus& status) {
  line(text, "log_id", status.log_id);
  line(text, "mode", status.mode);
  line(text, "written_lsn", status.written_lsn.value());
  line(text, "durable_lsn", status.durable_lsn.value());
  line(text, "incarnation", status.incarnation);
  line(text, "recovery_ms", status.recovery.count());
  line(text, "hold_clock_ms", to_ms(status.hold));
  line(text, "wall_clock_ms", to_ms(status.wall));
  line(text, "log_alarms", status.log_alarms);
  line(text, "log_space", status.space);
  line(text, "log_segment", status.log_segment);
  line(text, "log_batches", status.log_batches);
  line(text, "log_batch_bytes", status.log_batch_bytes);
  line(text, "log_flush_last_us", status.flush_last_us);
  line(text, "log_flush_max_us", status.flush_max_us);
  line(text, "log_slow_flushes", status.slow_flushes);
}

void stats_section(Text& text, const ServerStatus& status) {
  line(text, "total_connections_received", status.connections_received);
  line(text, "total_commands_processed", status.commands);
  line(text, "instantaneous_ops_per_sec", 0);
  line(text, "total_net_input_bytes", status.input_bytes);
  line(text, "total_net_output_bytes", status.output_bytes);
  line(text, "rejected_connections", status.connections_rejected);
  line(text, "expired_keys", 0);
  line(text, "evicted_keys", 0);
  line(text, "evicted_clients", status.clients_evicted);
  line(text, "timed_out_clients", status.clients_timed_out);
  line(text, "acl_access_denied_auth", status.wrong_secrets);
  line(text, "acl_access_denied_cmd", status.denied_commands);
  line(text, "keyspace_hits", 0);
  line(text, "keyspace_misses", 0);
  line(text, "pubsub_channels", 0);
  line(text, "pubsub_patterns", 0);
  line(text, "latest_fork_usec", 0);
  line(text, "total_error_replies", status.error_replies);
}

void replication_section(Text& text, const ServerStatus& status) {
  line(text, "role", "master");
  line(text, "connected_slaves", 0);
  line(text, "master_failover_state", "no-failover");
  line(text, "master_replid", status.run_id);
  line(text, "master_replid2", std::string(40, '0'));
  line(text, "master_repl_offset", status.durable_lsn.value());
  line(text, "second_repl_offset", -1);
  line(text, "repl_backlog_active", 0);
}

void cpu_section(Text& text, const ServerStatus& status) {
  const auto seconds = [](std::uint64_t micros) {
    return fmt::format("{}.{:06}", micros / 1'000'000, micros % 1'000'000);
  };
  line(text, "used_cpu_sys", seconds(status.cpu_system_us));
  line(text, "used_cpu_user", seconds(status.cpu_user_us));
}

void modules_section(Text&, const ServerStatus&) {}
void errorstats_section(Text&, const ServerStatus&) {}
void cluster_section(Text& text, const ServerStatus&) { line(text, "cluster_enabled", 0); }

void keyspace_section(Text& text, const ServerStatus& status) {
  if (status.items > 0) line(text, "db0", fmt::format("keys={},expires=0,avg_ttl=0", status.items));
}

struct Section {
  std::string_view title;
  void (*write)(Text&, const ServerStatus&);
};

/// Sections that are long: shown when they or ALL are asked for.
struct LongSection {
  std::string_view title;
  void (*write)(Text&, const Telemetry&);
};
constexpr LongSection kLongSections[] = {{"Commandstats", write_commandstats}, {"Latencystats", write_latencystats}};

constexpr Section kSections[] = {
    {"Server", server_section},           {"Clients", clients_section}, {"Memory", memory_section},
    {"Persistence", persistence_section}, {"Log", log_section},         {"Stats", stats_section},
    {"Replication", replication_section}, {"CPU", cpu_section},         {"Modules", modules_section},
    {"Errorstats", errorstats_section},   {"Cluster", cluster_section}, {"Keyspace", keyspace_section},
};

bool wanted(Words names, std::string_view title, bool by_default = true) {
  if (names.empty()) return by_default;
  std::string upper(title);
  std::transform(upper.begin(), upper.end(), upper.begin(),
                 [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
  return std::any_of(names.begin(), names.end(), [&](std::string_view name) {
    return equals_ignoring_case(name, upper) || equals_ignoring_case(name, "ALL") ||
           (by_default && equals_ignoring_case(name, "DEFAULT")) || equals_ignoring_case(name, "EVERYTHING");
  });
}

}  // namespace

void session_info(Session& session, Words words, ReplyWriter& reply) {
  const ServerStatus status = session.host().status();
  Text text;
  const auto begin_section = [&](std::string_view title) {
    if (!text.empty()) text += "\r\n";
    text += fmt::format("# {}\r\n", title);
  };
  for (const Section& section : kSections) {
    if (!wanted(words.subspan(1), section.title)) continue;
    begin_section(section.title);
    section.write(text, status);
  }
  for (const LongSection& section : kLongSections) {
    if (!wanted(words.subspan(1), section.title, false)) continue;
    begin_section(section.title);
    section.write(text, session.host().telemetry());
  }
  reply.verbatim(text);
}

}  // namespace holdfast
