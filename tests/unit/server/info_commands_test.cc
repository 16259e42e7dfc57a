#include "server/info_sections.h"
#include "tests/doctest.h"
#include "tests/unit/server/session_fixture.h"

#include <map>

using namespace holdfast;

namespace {

struct Info {
  std::map<std::string, std::string> fields;
  std::vector<std::string> sections;
};

/// What INFO answered, taken apart as strictly as its strictest reader does.
Info parse(std::string reply) {
  const std::size_t begin = reply.find("\r\n") + 2;
  std::string_view text = std::string_view(reply).substr(begin, reply.size() - begin - 2);
  Info info;
  while (!text.empty()) {
    const std::size_t end = text.find("\r\n");
    REQUIRE(end != std::string_view::npos);
    const std::string line(text.substr(0, end));
    text.remove_prefix(end + 2);
    REQUIRE(line.find('\n') == std::string::npos);
    if (line.empty()) continue;
    if (line.starts_with("# ")) {
      info.sections.push_back(line.substr(2));
      continue;
    }
    const std::size_t colon = line.find(':');
    REQUIRE(colon != std::string::npos);
    CHECK_MESSAGE(info.fields.emplace(line.substr(0, colon), line.substr(colon + 1)).second, line);
  }
  return info;
}

}  // namespace

TEST_CASE("info_commands: every line is a section's title or a field, once, and ends in CR LF") {
  PlayedHost host;
  PlayedSession client(host);
  host.server.loading = true;
  host.server.items = 3;
  const Info info = parse(client.ask({"INFO", "everything"}));
  CHECK(info.sections.size() == info_sections().size() + 2);
  CHECK(parse(client.ask({"INFO"})).sections.size() == info_sections().size());
  CHECK(info.fields.at("db0") == "keys=3,expires=0,avg_ttl=0");
  CHECK(info.fields.at("loading") == "1");
  for (const auto* field : {"redis_version",
                            "redis_mode",
                            "role",
                            "connected_slaves",
                            "master_repl_offset",
                            "used_memory",
                            "connected_clients",
                            "blocked_clients",
                            "total_commands_processed",
                            "total_connections_received",
                            "loading_eta_seconds",
                            "cluster_enabled",
                            "aof_enabled",
                            "rdb_last_save_time",
                            "instantaneous_ops_per_sec",
                            "rejected_connections",
                            "keyspace_hits",
                            "total_net_input_bytes",
                            "used_cpu_sys",
                            "maxmemory",
                            "log_id",
                            "forked_from_log_id",
                            "forked_from_lsn"}) {
    CHECK_MESSAGE(info.fields.count(field) == 1, field);
  }
}

TEST_CASE("info_commands: sections are asked for by name, several at once, in any case") {
  PlayedHost host;
  PlayedSession client(host);
  CHECK(parse(client.ask({"INFO", "SERVER", "cluster"})).sections == std::vector<std::string>{"Server", "Cluster"});
  CHECK(parse(client.ask({"INFO"})).sections == parse(client.ask({"INFO", "default"})).sections);
  CHECK(parse(client.ask({"INFO", "all"})).sections == parse(client.ask({"INFO", "everything"})).sections);
  CHECK(client.ask({"INFO", "foo"}) == "$0\r\n\r\n");
  CHECK(client.ask({"INFO", "cluste"}) == "$0\r\n\r\n");
  client.ask({"HELLO", "3"});
  CHECK(client.ask({"INFO", "cluster"}) == "=34\r\ntxt:# Cluster\r\ncluster_enabled:0\r\n\r\n");
}

TEST_CASE("info_commands: error replies are told apart by their code") {
  PlayedHost host;
  host.server.errors = {{"ERR", 2}, {"NOITEM", 7}};
  PlayedSession client(host);
  const Info info = parse(client.ask({"INFO", "errorstats"}));
  CHECK(info.fields.at("errorstat_ERR") == "count=2");
  CHECK(info.fields.at("errorstat_NOITEM") == "count=7");
  client.ask({"NOSUCH"});
  client.ask({"HELLO", "9"});
  client.ask({"GET", "x"});
  client.session.answer(host.forwarded.at(0).address.slot, "-NOITEM x\r\n");
  using Totals = std::vector<std::pair<std::string_view, std::uint64_t>>;
  CHECK(host.telemetry().shared().error_totals() == Totals{{"ERR", 1}, {"NOITEM", 1}, {"NOPROTO", 1}});
  CHECK(client.ask({"CONFIG", "RESETSTAT"}).ends_with("+OK\r\n"));
  CHECK(host.telemetry().shared().error_totals().empty());
}

TEST_CASE("info_commands: while loading, the time that is left is estimated from the bytes") {
  PlayedHost host;
  host.server.loading = true;
  host.server.uptime = Millis(10'000);
  host.server.loading_bytes_total = 400;
  host.server.loading_bytes_done = 100;
  PlayedSession client(host);
  const Info info = parse(client.ask({"INFO", "persistence"}));
  CHECK(info.fields.at("loading_eta_seconds") == "31");
  CHECK(info.fields.at("loading_loaded_perc") == "25.00");
}
