#include "tools/holdfast_bench_sale.h"

#include "protocol/names.h"
#include "tools/resp_client.h"

#include <fmt/format.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <cstdio>

namespace holdfast {
namespace {

using std::chrono::nanoseconds;

constexpr std::chrono::seconds kTimeout{30};
constexpr const char* kExamples =
    R"(Users come at a rate that does not wait for answers; each asks once, with an ID of his own, and his latency counts from
the moment when he came. At the end the item's counters are held against what was answered, and counted anew.

examples:
  holdfast-bench sale --units 10000 --users 500000 --rate 50000
  holdfast-bench sale --item shoes --existing --users 100000     an item that is loaded already
  holdfast-bench sale --json

exit status: 0; 1 the sale could not be run to its end, or the law does not hold; 2 wrong arguments)";

double seconds(nanoseconds time) { return std::chrono::duration<double>(time).count(); }
double millis(std::uint64_t ns) { return static_cast<double>(ns) / 1e6; }

/// What the item says of itself.
struct Counted {
  std::int64_t total = 0;
  std::int64_t available = 0;
  std::int64_t reserved = 0;
  std::int64_t confirmed = 0;
  std::int64_t held = 0;
  bool ok = false;  // as ITEM VERIFY counts it from the rows

  bool adds_up() const noexcept { return available + reserved + confirmed + held == total; }
};

Result<Reply> ask(RespClient& client, const std::vector<std::string>& words) {
  auto reply = client.ask(words);
  if (!reply || !reply->is_error()) return reply;
  return Error::format(ErrorCode::err, "{} {}: {}", words[0], words[1], reply->text);
}

Result<Counted> count(RespClient& client, const std::string& item) {
  const auto got = ask(client, {"ITEM", "GET", item});
  if (!got) return got.error();
  const auto verified = ask(client, {"ITEM", "VERIFY", item});
  if (!verified) return verified.error();
  const auto number = [](const Reply& map, std::string_view key) {
    const Reply* value = map.find(key);
    return value == nullptr ? std::int64_t{0} : value->integer;
  };
  return Counted{number(*got, "total"),     number(*got, "available"), number(*got, "reserved"),
                 number(*got, "confirmed"), number(*got, "held"),      number(*verified, "ok") == 1};
}

/// On a terminal one line that is written over, else a line every second.
class ProgressPrinter {
 public:
  explicit ProgressPrinter(const SaleLoad& load) : load_(load) {}
  ~ProgressPrinter() {
    if (terminal_ && shown_) fmt::print(stderr, "\r\033[K");
  }
  ProgressPrinter(const ProgressPrinter&) = delete;
  ProgressPrinter& operator=(const ProgressPrinter&) = delete;

  void show(const SaleProgress& progress) {
    if (!terminal_ && progress.passed < next_) return;
    next_ = progress.passed + std::chrono::seconds(1);
    shown_ = true;
    fmt::print(stderr, "{}  {:5.1f} s  {} of {} users came, {} answered, {} sold{}", terminal_ ? "\r\033[K" : "",
               seconds(progress.passed), progress.came, load_.users, progress.answered, progress.sold,
               terminal_ ? "" : "\n");
  }

 private:
  const SaleLoad& load_;
  bool terminal_ = isatty(STDERR_FILENO) == 1;
  bool shown_ = false;
  nanoseconds next_ = std::chrono::seconds(1);
};

bool law_holds(const SaleResult& result, const Counted& before, const Counted& after) {
  const auto taken = after.reserved + after.confirmed - before.reserved - before.confirmed;
  return after.adds_up() && after.ok && result.errors == 0 && taken == static_cast<std::int64_t>(result.sold);
}

void print_text(const SaleArguments& arguments, const SaleResult& result, const Counted& after) {
  fmt::print("users      {} in {:.2f} s, {} a second over {} connections\n", arguments.load.users, seconds(result.wall),
             arguments.load.users_per_second, arguments.load.connections);
  fmt::print("sold       {}, the last unit after {:.3f} s\n", result.sold, seconds(result.last_unit));
  for (std::size_t i = 0; i < SaleResult::kReasons; ++i) {
    if (result.refused[i] > 0) fmt::print("refused    {} {}\n", result.refused[i], refusal_reason(i));
  }
  if (result.errors > 0) fmt::print("errors     {}, the first: {}\n", result.errors, result.first_error);
  const Histogram& latency = result.latency;
  fmt::print("latency ms p50 {:.2f}  p90 {:.2f}  p99 {:.2f}  p99.9 {:.2f}  max {:.2f}\n",
             millis(latency.percentile(0.5)), millis(latency.percentile(0.9)), millis(latency.percentile(0.99)),
             millis(latency.percentile(0.999)), millis(latency.max()));
  fmt::print("the law    {} available + {} reserved + {} confirmed + {} held = {}; counted anew from the rows: {}\n",
             after.available, after.reserved, after.confirmed, after.held, after.total, after.ok ? "ok" : "NOT ok");
}

void print_json(const SaleArguments& arguments, const SaleResult& result, const Counted& after, bool lawful) {
  std::string refused;
  for (std::size_t i = 0; i < SaleResult::kReasons; ++i) {
    if (result.refused[i] > 0)
      fmt::format_to(std::back_inserter(refused), "{}\"{}\":{}", refused.empty() ? "" : ",", refusal_reason(i),
                     result.refused[i]);
  }
  const Histogram& latency = result.latency;
  fmt::print(
      "{{\"users\":{},\"seconds\":{:.3f},\"users_per_second\":{},\"connections\":{},\"sold\":{},"
      "\"last_unit_seconds\":{:.4f},\"refused\":{{{}}},\"errors\":{},\"latency_ms\":{{\"p50\":{:.3f},\"p90\":{:.3f},"
      "\"p99\":{:.3f},\"p99.9\":{:.3f},\"max\":{:.3f}}},\"available\":{},\"reserved\":{},\"confirmed\":{},\"held\":{},"
      "\"total\":{},\"lawful\":{}}}\n",
      arguments.load.users, seconds(result.wall), arguments.load.users_per_second, arguments.load.connections,
      result.sold, seconds(result.last_unit), refused, result.errors, millis(latency.percentile(0.5)),
      millis(latency.percentile(0.9)), millis(latency.percentile(0.99)), millis(latency.percentile(0.999)),
      millis(latency.max()), after.available, after.reserved, after.confirmed, after.held, after.total, lawful);
}

Result<bool> hold_sale(SaleArguments& arguments, RespClient& client) {
  const std::string& item = arguments.load.item;
  if (!arguments.existing) {
    const auto created = ask(client, {"ITEM", "CREATE", item, "STOCK", fmt::format("{}", arguments.units)});
    if (!created) return created.error();
  }
  const auto before = count(client, item);
  if (!before) return before.error();
  ProgressPrinter progress(arguments.load);
  const auto result = run_sale(arguments.load, [&](const SaleProgress& made) { progress.show(made); });
  if (!result) return result.error();
  const auto after = count(client, item);
  if (!after) return after.error();
  const bool lawful = law_holds(*result, *before, *after);
  if (arguments.json) {
    print_json(arguments, *result, *after, lawful);
  } else {
    print_text(arguments, *result, *after);
  }
  return lawful;
}

int fail(int status, std::string_view text) {
  fmt::print(stderr, "holdfast-bench: {}\n", text);
  return status;
}

}  // namespace

CLI::App* add_sale_command(CLI::App& app, SaleArguments& arguments) {
  CLI::App* sale = app.add_subcommand("sale", "A flash sale: users come at a rate and each asks once for a unit.");
  sale->add_option("--server", arguments.server, "The server, 127.0.0.1:7379 if not said.")->type_name("HOST:PORT");
  sale->add_option("--user", arguments.user, "The user to be, default if not said.")->type_name("NAME");
  sale->add_option("--secret-file", arguments.secret_file,
                   "Its first line is the secret; else HOLDFASTCTL_AUTH or REDISCLI_AUTH.")
      ->type_name("FILE");
  sale->add_option("--item", arguments.load.item, "The item, 'sale' if not said.")->type_name("NAME");
  sale->add_option("--units", arguments.units, "Units of it, 10000 if not said.")->check(CLI::PositiveNumber);
  sale->add_flag("--existing", arguments.existing, "The item is there already; --units means nothing then.");
  sale->add_option("--users", arguments.load.users, "Users, 500000 if not said.")->check(CLI::Range(1, 900'000'000));
  sale->add_option("--rate", arguments.load.users_per_second, "Users that come in a second, 50000 if not said.")
      ->check(CLI::Range(1, 10'000'000));
  sale->add_option("-c,--connections", arguments.load.connections, "Connections, 64 if not said.")
      ->check(CLI::Range(1, 10'000));
  sale->add_option("--seed", arguments.load.seed, "Of the users' numbers and ids: another one, other users.")
      ->check(CLI::Range(1, 4'000'000));
  sale->add_flag("--json", arguments.json, "Print one line of JSON.");
  sale->footer(kExamples);
  return sale;
}

int sale_command(SaleArguments& arguments) {
  const std::size_t colon = arguments.server.rfind(':');
  std::uint64_t port = 0;
  if (colon == std::string::npos || !parse_canonical(arguments.server.substr(colon + 1), 65535, port)) {
    return fail(2, "sale wants --server HOST:PORT (sale --help)");
  }
  arguments.load.host = arguments.server.substr(0, colon);
  arguments.load.port = static_cast<std::uint16_t>(port);
  const auto credentials = find_credentials(arguments.user, arguments.secret_file);
  if (!credentials) return fail(2, credentials.error().text());
  arguments.load.credentials = *credentials;
  const auto client = RespClient::connect(arguments.server, kTimeout, *credentials);
  if (!client) return fail(1, client.error().text());
  const auto lawful = hold_sale(arguments, **client);
  if (!lawful) return fail(1, lawful.error().text());
  return *lawful ? 0 : fail(1, "what was answered is not what the item has");
}

}  // namespace holdfast
