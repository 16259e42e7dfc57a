#include "tools/holdfastctl_reconcile.h"

#include "replication/reconcile_mend.h"
#include "replication/reconcile_tables.h"
#include "storage/record_lines.h"
#include "tools/holdfastctl_reconcile_topics.h"
#include "tools/postgres_argument.h"
#include "tools/reconcile_server.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

namespace holdfast {
namespace {

namespace json = boost::json;

constexpr std::chrono::seconds kTimeout{60};
constexpr std::size_t kShownMax = 20;
constexpr const char* kAbout =
    R"(With --postgres: reads the tables as of one moment, then the server's log as far as it is kept, and its newest snapshot where that is not all;
sales and the relay go on meanwhile. Keeps what it compares in temporary files, some 120 bytes for each row and each change, in the
folder that TMPDIR names. What the relay has not brought yet, and what is parked, is no difference. The server
needs the role relay. Writes nothing without --apply. That makes the relay wait for a moment at a time, changes only rows
that are still as they were found, and notes each in holdfast_audit. The database's user needs SELECT, for --apply also
INSERT and UPDATE, and DELETE on flash_sale_journal.

kinds of differences to the tables:
)";
constexpr const char* kAboutTopics = R"(
With --kafka: reads the cursor topic, the topics of orders and events up to where they end then, and the server's log as far as it
is kept. What the relay has not brought yet, what was sent again by holdfastctl dlt, and what has been deleted from a topic's
beginning is no difference. Temporary files as above, 80 bytes for each record and each change. Writes nothing: a topic cannot be
mended. Its user needs Read of the three topics, and of those of dead letters.

kinds of differences to the topics:
)";
constexpr const char* kExamples =
    R"(
examples:
  holdfastctl reconcile --postgres 'host=db dbname=shop user=relay'             what differs
  holdfastctl reconcile --postgres 'host=db dbname=shop user=relay' --repair    and what would be written
  holdfastctl reconcile --postgres 'host=db dbname=shop user=relay' --apply     writes it
  holdfastctl reconcile --json                                                  one object; HOLDFAST_POSTGRES says where
  holdfastctl reconcile --kafka k1:9092,k2:9092                                 what differs in the topics
  holdfastctl reconcile --kafka k1:9092 --repair                                and what a person does about it

exit status: 0 nothing differs, or everything was mended; 1 something differs; 2 the database or the server could not be
asked, or tables or topics belong to another log; of both, what is worse)";

std::string footer() {
  std::string text = kAbout;
  for (const DifferenceKindEntry& kind : difference_kinds()) {
    text += fmt::format("  {:<10}{}\n            --apply writes: {}\n            for a person: {}\n", kind.name,
                        kind.what, kind.mends, kind.person);
  }
  return text + kAboutTopics + topic_kinds_text() + kExamples;
}

struct ReconcileArguments {
  std::string postgres;
  bool repair = false;
  bool apply = false;
};

json::object show(const Difference& difference, bool as_json) {
  json::object shown{{"kind", kind_name(difference.kind)}};
  if (!difference.item.empty()) {
    shown["item"] = difference.item;
    shown["version"] = difference.version.value();
  }
  if (!difference.key.empty()) shown["key"] = difference.key;
  shown["tables"] = difference.tables;
  shown["server"] = difference.server;
  if (as_json) shown["mendable"] = difference.mendable;
  return shown;
}

class ReconcileRun {
 public:
  ReconcileRun(ReconcileTables& tables, RespClient& client, const ReconcileArguments& words, bool as_json)
      : tables_(tables), server_(client, tables.items()), words_(words), json_(as_json) {}

  Result<int> run() {
    if (words_.apply) {
      const auto alone = tables_.lock_out_others();
      if (!alone) return alone.error();
      if (!*alone) return Error(ErrorCode::locked, "another holdfastctl reconcile --apply is at work");
    }
    HOLDFAST_TRY(compare());
    if (words_.apply) HOLDFAST_TRY(mend());
    progress_.reset();
    return print();
  }

 private:
  Result<void> compare() {
    auto spill = ObservationSpill::make();
    if (!spill) return spill.error();
    HOLDFAST_TRY(tables_.read(*spill, differences_, [this](std::string_view table, std::uint64_t rows) {
      progress_->show(fmt::format("{}: {} rows", table, rows));
    }));
    HOLDFAST_TRY(server_.look());
    HOLDFAST_TRY(check_log());
    HOLDFAST_TRY(server_.read(*spill, on_server()));
    if (auto moved = judge_cursor(server_.position(tables_.cursor().lsn, tables_.cursor_marked())))
      differences_.add(std::move(*moved));
    Reconcile reconcile(tables_.items(), tables_.chains(), tables_.ids(), server_.oldest(), differences_);
    for (std::size_t part = 0; part < kReconcileParts; ++part) {
      progress_->show(fmt::format("comparing: {} of {}", part, kReconcileParts));
      auto observations = spill->take(part);
      if (!observations) return observations.error();
      reconcile.compare(std::move(*observations));
    }
    reconcile.finish();
    return {};
  }

  /// A cursor beyond the log is a difference; tables of another log cannot be compared.
  Result<void> check_log() const {
    Cursor cursor = tables_.cursor();
    cursor.lsn = std::min(cursor.lsn, server_.durable());
    if (cursor.lsn.next() < server_.oldest()) cursor.lsn = server_.oldest();
    return check_cursor(cursor, LogRange{server_.log(), server_.oldest(), server_.durable()});
  }

  Result<void> mend() {
    ReconcileMender& mender = mender_.emplace(tables_.connection(), tables_.ids(), tables_.sink(), tables_.items());
    mender.prepare(differences_.kept());
    if (mender.needs_log()) {
      const ReconcileServer::OnEvent offer = [&](const Event& event) -> Result<void> {
        mender.offer(event);
        return {};
      };
      HOLDFAST_TRY(server_.read_again(offer, on_server()));
    }
    progress_->show("mending");
    const auto counts = mender.mend(differences_.kept());
    if (!counts) return counts.error();
    mended_ = *counts;
    return {};
  }

  ReconcileServer::Progress on_server() {
    return [this](std::string_view what, std::uint64_t done, std::uint64_t all) {
      progress_->show(all == 0 ? fmt::format("{} {}", what, done) : fmt::format("{} {} of {}", what, done, all));
    };
  }

  std::uint64_t mended() const {
    std::uint64_t all = 0;
    for (const std::uint64_t count : mended_) all += count;
    return all;
  }

  int print() const {
    if (json_) {
      print_json();
    } else {
      print_table();
    }
    return differences_.count() == mended() ? kDone : kNotOk;
  }

  void print_json() const {
    json::object kinds, mended;
    for (std::size_t kind = 0; kind < kDifferenceKinds; ++kind) {
      const json::string_view name(difference_kinds()[kind].name.data(), difference_kinds()[kind].name.size());
      kinds[name] = differences_.count(static_cast<DifferenceKind>(kind));
      mended[name] = mended_[kind];
    }
    json::array list;
    for (const Difference& difference : differences_.kept()) list.push_back(show(difference, true));
    json::object all{{"sink", tables_.sink()}, {"log", log_id_text(server_.log())}};
    all["cursor"] = tables_.cursor().lsn.value();
    all["durable"] = server_.durable().value();
    all["orders"] = tables_.orders();
    all["journal"] = tables_.journal_rows();
    all["changes"] = server_.changes();
    all["parked"] = tables_.parked();
    all["differences"] = differences_.count();
    all["kinds"] = std::move(kinds);
    if (words_.apply) {
      all["mended"] = std::move(mended);
      all["refused"] = refused();
    }
    all["list"] = std::move(list);
    fmt::print("{}\n", render(all, true));
  }

  json::array refused() const {
    json::array list;
    for (const auto& [difference, words] : mender_->refused()) {
      list.push_back({{"item", difference->item},
                      {"version", difference->version.value()},
                      {"key", difference->key},
                      {"words", words}});
    }
    return list;
  }

  void print_refused() const {
    const auto& all = mender_->refused();
    for (std::size_t i = 0; i < std::min(all.size(), kShownMax); ++i) {
      const Difference& difference = *all[i].difference;
      fmt::print("refused: {}\n",
                 for_terminal(fmt::format("{} {}: {}", difference.item, difference.key, all[i].words)));
    }
    if (all.size() > kShownMax) fmt::print("... {} are refused (--json names them)\n", all.size());
  }

  void print_table() const {
    fmt::print(
        "{} orders and {} rows of the journal against {} changes of log {}, LSN {} to {}; the tables are at {}\n",
        tables_.orders(), tables_.journal_rows(), server_.changes(), log_id_text(server_.log()),
        server_.oldest().value(), server_.durable().value(), tables_.cursor().lsn.value());
    if (tables_.parked() > 0) fmt::print("{} parked: holdfastctl parked list\n", tables_.parked());
    print_kinds();
    std::size_t shown = 0;
    for (const Difference& difference : differences_.kept()) {
      if (++shown > kShownMax && !words_.repair) break;
      fmt::print("{}{}\n", for_terminal(render(show(difference, false), false)),
                 words_.repair ? proposal(difference) : "");
    }
    if (differences_.count() > std::min(shown, differences_.kept().size())) fmt::print("... (--json shows more)\n");
    if (words_.apply) print_refused();
    if (differences_.count() == 0) fmt::print("clean\n");
    if (differences_.count() > mended() && !words_.repair && !words_.apply) {
      fmt::print("Nothing was written. --repair shows what would be, --apply writes it.\n");
    }
  }

  void print_kinds() const {
    fmt::print("\n{:<10} {:>8}{}  what it is\n", "kind", "found", words_.apply ? "   mended" : "");
    for (std::size_t kind = 0; kind < kDifferenceKinds; ++kind) {
      const std::uint64_t count = differences_.count(static_cast<DifferenceKind>(kind));
      const DifferenceKindEntry& entry = difference_kinds()[kind];
      fmt::print("{:<10} {:>8}{}  {}\n", entry.name, count, words_.apply ? fmt::format(" {:>8}", mended_[kind]) : "",
                 entry.what);
    }
    fmt::print("\n");
  }

  static std::string proposal(const Difference& difference) {
    const DifferenceKindEntry& entry = difference_kinds()[static_cast<std::size_t>(difference.kind)];
    return difference.mendable ? fmt::format("\n  --apply writes: {} To: {}", entry.mends, difference.server)
                               : fmt::format("\n  for a person: {}", entry.person);
  }

  ReconcileTables& tables_;
  ReconcileServer server_;
  const ReconcileArguments& words_;
  bool json_;
  Differences differences_;
  ReconcileMender::Counts mended_{};
  std::optional<ReconcileMender> mender_;
  std::optional<ProgressLine> progress_{std::in_place};
};

Result<int> reconcile_tables(const ReconcileArguments& words, const ServerArguments& arguments) {
  const auto tables = ReconcileTables::open(words.postgres);
  if (!tables) return tables.error();
  const auto client = connect(arguments, kTimeout);
  if (!client) return client.error();
  return ReconcileRun(**tables, **client, words, arguments.json).run();
}

}  // namespace

int reconcile_command(CommandWords words, ServerArguments arguments) {
  ReconcileArguments reconcile;
  ReconcileTopicsWords topics;
  CLI::App app(
      "Compares a server with PostgreSQL's tables or Kafka's topics, names what differs, and mends the tables.",
      "holdfastctl reconcile");
  add_postgres_option(app, reconcile.postgres);
  add_kafka_options(app, topics.kafka);
  for (const char* target : {"--postgres", "--kafka"}) app.get_option(target)->required(false);
  add_published_topic_options(app, topics.kafka);
  add_cursor_topic_option(app, topics.kafka);
  app.add_option("--kafka-sink", topics.sink, "Whose cursor, where the cursor topic has several")->type_name("NAME");
  app.add_flag("--repair", reconcile.repair, "Say what would be written, or what a person does");
  app.add_flag("--apply", reconcile.apply, "Write it to the tables");
  add_server_options(app, arguments);
  app.footer(footer());
  if (const auto status = read_words(app, words)) return *status;
  topics.repair = reconcile.repair;
  const bool has_tables = !reconcile.postgres.empty(), has_topics = !topics.kafka.brokers.empty();
  if (!has_tables && !has_topics)
    return fail(Error(ErrorCode::bad_option, "say --postgres URL, --kafka BROKERS, or both"));
  if (!has_tables && reconcile.apply)
    return fail(Error(ErrorCode::bad_option, "--apply writes to tables, and there is no --postgres"));
  int status = kDone;
  const auto take = [&](const Result<int>& done) { status = std::max(status, done ? *done : fail(done.error())); };
  if (has_tables) take(reconcile_tables(reconcile, arguments));
  if (has_topics) take(reconcile_topics(topics, arguments));
  return status;
}

}  // namespace holdfast
