// holdfast-bench: load for a server, and what it costs. `raw` sends any command, `sale` is a flash sale.
#include "protocol/names.h"
#include "tools/bench_raw.h"
#include "tools/holdfast_bench_sale.h"
#include "tools/resp_client.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <cstdio>

namespace holdfast {
namespace {

constexpr double kMicro = 1000.0;

double micros(std::uint64_t ns) { return static_cast<double>(ns) / kMicro; }

/// The process that listens there, as its INFO says; 0 when it does not.
int server_process(const std::string& server, const Credentials& credentials) {
  const auto client = RespClient::connect(server, std::chrono::seconds(5), credentials);
  if (!client) return 0;
  const auto info = (*client)->ask({"INFO", "server"});
  if (!info) return 0;
  constexpr std::string_view kField = "\nprocess_id:";
  const std::size_t at = info->text.find(kField);
  if (at == std::string::npos) return 0;
  return std::atoi(info->text.c_str() + at + kField.size());
}

void print_json(const RawLoad& load, const RawResult& result) {
  const double seconds = std::chrono::duration<double>(result.wall).count();
  const auto& latency = result.latency;
  fmt::print(
      "{{\"connections\":{},\"threads\":{},\"pipeline\":{},\"requests\":{},\"seconds\":{:.4f},"
      "\"requests_per_second\":{:.0f},\"successes\":{},\"refusals\":{},\"errors\":{},"
      "\"latency_us\":{{\"p50\":{:.1f},\"p90\":{:.1f},\"p99\":{:.1f},\"p99.9\":{:.1f},\"max\":{:.1f}}},"
      "\"server_cpu_seconds\":{:.2f},\"server_cpu_seconds_per_million\":{:.3f},\"client_cpu_seconds\":{:.2f}}}\n",
      load.connections, load.threads, load.pipeline, result.counts.replies, seconds,
      static_cast<double>(result.counts.replies) / seconds, result.counts.successes, result.counts.refusals,
      result.counts.errors, micros(latency.percentile(0.5)), micros(latency.percentile(0.9)),
      micros(latency.percentile(0.99)), micros(latency.percentile(0.999)), micros(latency.max()),
      result.server_cpu_seconds,
      result.server_cpu_seconds * 1e6 / static_cast<double>(std::max<std::uint64_t>(result.counts.replies, 1)),
      result.client_cpu_seconds);
}

void print_text(const RawLoad& load, const RawResult& result) {
  const double seconds = std::chrono::duration<double>(result.wall).count();
  const auto& counts = result.counts;
  fmt::print("{} requests over {} connections, {} thread(s), pipeline {}: {:.2f} s, {:.0f} a second\n", counts.replies,
             load.connections, load.threads, load.pipeline, seconds, static_cast<double>(counts.replies) / seconds);
  fmt::print("replies    {} successes (integers from 0), {} refusals (below 0), {} errors\n", counts.successes,
             counts.refusals, counts.errors);
  fmt::print("latency us p50 {:.0f}  p90 {:.0f}  p99 {:.0f}  p99.9 {:.0f}  max {:.0f}\n",
             micros(result.latency.percentile(0.5)), micros(result.latency.percentile(0.9)),
             micros(result.latency.percentile(0.99)), micros(result.latency.percentile(0.999)),
             micros(result.latency.max()));
  if (load.server_pid > 0) {
    fmt::print("CPU        server {:.2f} s, {:.3f} s a million requests; this program {:.2f} s\n",
               result.server_cpu_seconds, result.server_cpu_seconds * 1e6 / static_cast<double>(counts.replies),
               result.client_cpu_seconds);
  }
}

int run(int argc, char** argv) {
  CLI::App app("Load for a Holdfast server.", "holdfast-bench");
  app.require_subcommand(1);
  RawLoad load;
  bool json = false;
  std::string server = "127.0.0.1:7379";
  std::string user, secret_file;
  CLI::App* raw = app.add_subcommand("raw",
                                     "Sends one command again and again; __rand_int__ in its words becomes a "
                                     "random number, __seq__ the next number.");
  raw->add_option("--server", server, "The server, 127.0.0.1:7379 if not said.")->type_name("HOST:PORT");
  raw->add_option("--user", user, "The user to be, default if not said.")->type_name("NAME");
  raw->add_option("--secret-file", secret_file, "Its first line is the secret; else HOLDFASTCTL_AUTH or REDISCLI_AUTH.")
      ->type_name("FILE");
  raw->add_option("-c,--connections", load.connections, "Connections.")->check(CLI::Range(1, 10'000));
  raw->add_option("--silent", load.silent,
                  "Open so many more before each connection and leave them silent; a server that deals connections to "
                  "its threads in turn has the load on one thread then.")
      ->check(CLI::Range(0, 63));
  raw->add_option("-t,--threads", load.threads, "Threads of this program.")->check(CLI::Range(1, 64));
  raw->add_option("-P,--pipeline", load.pipeline, "Requests in one write.")->check(CLI::Range(1, 10'000));
  raw->add_option("-n,--requests", load.requests, "Requests in all.");
  raw->add_option("--keyspace", load.keyspace, "__rand_int__ has so many values.")->check(CLI::PositiveNumber);
  raw->add_option("--seed", load.seed, "Of the random numbers.");
  raw->add_option("--server-pid", load.server_pid, "The server's process, if INFO does not tell it.");
  raw->add_flag("--json", json, "Print one line of JSON.");
  raw->prefix_command();
  SaleArguments sale;
  const CLI::App* sale_subcommand = add_sale_command(app, sale);
  CLI11_PARSE(app, argc, argv);
  if (sale_subcommand->parsed()) return sale_command(sale);

  load.words = raw->remaining();
  const std::size_t colon = server.rfind(':');
  std::uint64_t port = 0;
  if (load.words.empty() || colon == std::string::npos || !parse_canonical(server.substr(colon + 1), 65535, port)) {
    fmt::print(stderr, "holdfast-bench: raw needs a command, and --server HOST:PORT (raw --help)\n");
    return 2;
  }
  load.host = server.substr(0, colon);
  load.port = static_cast<std::uint16_t>(port);
  const auto credentials = find_credentials(user, secret_file);
  if (!credentials) {
    fmt::print(stderr, "holdfast-bench: {}\n", credentials.error().text());
    return 2;
  }
  load.credentials = *credentials;
  if (load.server_pid == 0) load.server_pid = server_process(server, load.credentials);
  const auto result = run_raw(load);
  if (!result) {
    fmt::print(stderr, "holdfast-bench: {}\n", result.error().text());
    return 1;
  }
  if (json) {
    print_json(load, *result);
  } else {
    print_text(load, *result);
  }
  return 0;
}

}  // namespace
}  // namespace holdfast

int main(int argc, char** argv) { return holdfast::run(argc, argv); }
