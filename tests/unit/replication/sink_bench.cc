#include "tests/unit/replication/sink_bench.h"

#include "replication/parked_desk.h"
#include "replication/postgres_migrate.h"

#include <cstdio>
#include <cstdlib>

namespace holdfast::test {
namespace {

/// Fails the whole program: without a database nothing here means anything.
template <class T>
T need(Result<T> result) {
  if (result) return std::move(*result);
  std::fprintf(stderr, "%.*s\n", static_cast<int>(result.error().text().size()), result.error().text().data());
  std::exit(1);
}
void need(const Result<void>& result) {
  if (!result) need(Result<int>(result.error()));
}

}  // namespace

std::string database_url() {
  const char* const url = std::getenv("HOLDFAST_POSTGRES");
  if (url != nullptr) return url;
  std::fprintf(stderr, "HOLDFAST_POSTGRES names no database; run this by tests/services/with_postgres.py\n");
  std::exit(1);
}

SinkBench::SinkBench(OutsideIds ids, bool existing_items) : existing_items_(existing_items) {
  execute(
      "DO $$ DECLARE s text; BEGIN FOR s IN SELECT nspname FROM pg_namespace WHERE nspname LIKE 'holdfast\\_before%'"
      " LOOP EXECUTE 'DROP SCHEMA ' || s || ' CASCADE'; END LOOP; END $$;"
      "DROP SCHEMA public CASCADE; CREATE SCHEMA public");
  auto connection = need(PostgresConnection::connect(database_url()));
  need(migrate(*connection, ids));
}

std::unique_ptr<EventSink> SinkBench::another_sink() const {
  return make_postgres_sink({"postgres", database_url(), existing_items_});
}

std::string SinkBench::flush(std::size_t at_once) {
  const auto events = tape_.next();
  if (sink_ == nullptr) {
    sink_ = another_sink();
    const auto state = sink_->open();
    if (!state) return std::string(state.error().text());
    const auto tended = sink_->tend(Millis(0));
    if (!tended) return std::string(tended.error().text());
  }
  for (std::size_t begin = 0; begin < events.size(); begin += at_once) {
    EventBatch batch;
    const std::size_t end = std::min(begin + at_once, events.size());
    batch.events.assign(events.begin() + static_cast<std::ptrdiff_t>(begin),
                        events.begin() + static_cast<std::ptrdiff_t>(end));
    batch.through = batch.events.back().lsn;
    const auto applied = sink_->apply(log.log, batch);
    if (!applied) {
      sink_.reset();
      return std::string(applied.error().text());
    }
  }
  return {};
}

std::string SinkBench::rows(const std::string& sql) {
  auto connection = need(PostgresConnection::connect(database_url()));
  need(connection->begin());
  const auto answer = need(connection->run({"rows", sql}, {}));
  std::string text;
  for (const SqlRow& row : answer.rows) {
    if (!text.empty()) text += "; ";
    for (std::size_t i = 0; i < row.size(); ++i) text += (i == 0 ? "" : " ") + row[i].value_or("-");
  }
  return text;
}

void SinkBench::execute(const std::string& sql) {
  auto connection = need(PostgresConnection::connect(database_url()));
  need(connection->begin());
  need(connection->execute(sql));
  need(connection->commit());
}

std::string SinkBench::retry() {
  const auto desk = need(ParkedDesk::open(database_url()));
  std::string said;
  for (const ParkedEntry& entry : need(desk->find({}))) said += need(desk->retry(entry));
  return said;
}

std::string SinkBench::audit() {
  const std::string sums = rows(
      "SELECT i.item_id, i.sold, coalesce(sum(o.quantity) FILTER (WHERE o.status IN ('PENDING', 'PAID')), 0) AS live"
      " FROM flash_sale_item i LEFT JOIN flash_sale_order o ON o.item_id = i.item_id AND o.version = i.version"
      " GROUP BY i.item_id HAVING i.sold <> coalesce(sum(o.quantity) FILTER (WHERE o.status IN ('PENDING', 'PAID')), "
      "0)");
  const std::string gaps = rows(
      "SELECT item, version, count(*), max(sequence) FROM flash_sale_journal GROUP BY item, version"
      " HAVING count(*) <> max(sequence) OR min(sequence) <> 1");
  const std::string items = rows(
      "SELECT k.item, k.sequence, j.last FROM holdfast_item k JOIN (SELECT item, version, max(sequence) AS last"
      " FROM flash_sale_journal GROUP BY item, version) j USING (item, version) WHERE k.sequence <> j.last");
  return (sums.empty() ? "" : "sums: " + sums + " ") + (gaps.empty() ? "" : "gaps: " + gaps + " ") +
         (items.empty() ? "" : "items: " + items);
}

}  // namespace holdfast::test
