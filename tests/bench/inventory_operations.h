// The operations that are measured, each on a table of its own: what prepares it, and its n-th run. One thread.
#pragma once

#include "tests/bench/inventory_table.h"

#include "server/step.h"

#include <memory>

namespace holdfast::bench {

struct Operation {
  const char* name;
  /// A table with `rows` live reservations on which `run` can be called for 0..rows-1.
  std::unique_ptr<Table> (*make)(std::uint64_t rows);
  void (*run)(Table& table, std::uint64_t rows, std::uint64_t n);
};

/// The n-th of `rows` in an order without locality. REQUIRES: rows is a power of two.
inline std::uint64_t scattered(std::uint64_t n, std::uint64_t rows) { return n * 0x9e3779b97f4a7c15U & (rows - 1); }

inline std::unique_ptr<Table> selling(std::uint64_t rows) {
  auto table = std::make_unique<Table>(static_cast<std::int64_t>(4 * rows));
  table->fill(0, rows);
  return table;
}

inline std::unique_ptr<Table> sold_out(std::uint64_t rows) {
  auto table = std::make_unique<Table>(static_cast<std::int64_t>(rows));
  table->fill(0, rows);
  return table;
}

inline std::unique_ptr<Table> sold_out_and_known(std::uint64_t rows) {
  auto table = sold_out(rows);
  table->make_known();
  return table;
}

inline std::unique_ptr<Table> selling_in_sale(std::uint64_t rows) {
  auto table = std::make_unique<Table>(static_cast<std::int64_t>(4 * rows), LimitScope::sale);
  table->fill(0, rows);
  return table;
}

inline std::unique_ptr<Table> all_due(std::uint64_t rows) {
  auto table = selling(rows);
  table->pass(std::chrono::hours(1));
  return table;
}

inline void expect(Table& table, std::uint64_t n, const Result<ReserveAnswer>& answer, ReserveOutcome outcome) {
  CHECK(answer && answer->outcome == outcome);
  if (n % Table::kGroupCommands == 0) table.commit();
}

inline void expect_done(Table& table, std::uint64_t n, const Result<VerbAnswer>& answer) {
  CHECK(answer && answer->outcome == VerbOutcome::done);
  if (n % Table::kGroupCommands == 0) table.commit();
}

/// The whole step, from words to the reply's bytes.
inline void run_step(Table& table, std::uint64_t n, std::string_view user, std::string_view expected) {
  const auto id = id_at(n).text();
  const std::string_view words[] = {"RESERVE", "{bench}item", user, "ID", {id.data(), id.size()}};
  static std::string out;
  out.clear();
  ReplyWriter reply(out, RespVersion::resp2);
  step(table.inventory(), **find_command(words), words, table.now(), reply);
  CHECK(out.starts_with(expected));
  if (n % Table::kGroupCommands == 0) table.commit();
}

/// The same by a thread that does not own the item, from the item's view. The few ids that are taken for known ones go
/// to the owner and cost his step on top.
inline void run_view(Table& table, std::uint64_t n, std::string_view user, std::string_view expected) {
  const auto id = id_at(n).text();
  const std::string_view words[] = {"RESERVE", "{bench}item", user, "ID", {id.data(), id.size()}};
  static std::string out;
  out.clear();
  ReplyWriter reply(out, RespVersion::resp2);
  CHECK((*find_command(words))->id == CommandId::reserve);
  if (!table.views().answer(words, ViewTime::of(table.now()), reply)) return run_step(table, n, user, expected);
  CHECK(out.starts_with(expected));
}

inline constexpr Operation kOperations[] = {
    {"refusal_sold_out", sold_out,
     [](Table& table, std::uint64_t rows, std::uint64_t n) {
       expect(table, n, table.reserve(rows + n), ReserveOutcome::sold_out);
     }},
    {"refusal_view", sold_out_and_known,
     [](Table& table, std::uint64_t rows, std::uint64_t n) {
       const ReserveRequest request{table.item().name(), user_at(rows + n), 1, id_at(rows + n)};
       const auto refusal = table.views().look(request, ViewTime::of(table.now()));
       CHECK(!refusal || refusal->outcome == ReserveOutcome::sold_out);
     }},
    {"refusal_limit", selling,
     [](Table& table, std::uint64_t rows, std::uint64_t n) {
       const ReserveRequest request{table.item().name(), user_at(scattered(n, rows)), 1, id_at(rows + n)};
       expect(table, n, table.inventory().reserve(table.item(), request, table.now()), ReserveOutcome::limit_reached);
     }},
    {"replay_by_id", selling,
     [](Table& table, std::uint64_t rows, std::uint64_t n) {
       expect(table, n, table.reserve(scattered(n, rows)), ReserveOutcome::known);
     }},
    {"success_given_id", selling,
     [](Table& table, std::uint64_t rows, std::uint64_t n) {
       expect(table, n, table.reserve(rows + n), ReserveOutcome::taken);
     }},
    {"success_server_id", selling,
     [](Table& table, std::uint64_t rows, std::uint64_t n) {
       expect(table, n, table.reserve(rows + n, false), ReserveOutcome::taken);
     }},
    {"success_in_sale", selling_in_sale,
     [](Table& table, std::uint64_t rows, std::uint64_t n) {
       expect(table, n, table.reserve(rows + n), ReserveOutcome::taken);
     }},
    {"confirm", selling,
     [](Table& table, std::uint64_t rows, std::uint64_t n) {
       expect_done(table, n, table.inventory().confirm(table.item(), table.verb(scattered(n, rows)), table.now()));
     }},
    {"release", selling,
     [](Table& table, std::uint64_t rows, std::uint64_t n) {
       expect_done(table, n, table.inventory().release(table.item(), table.verb(scattered(n, rows)), table.now()));
     }},
    // A sweep of 2,000 for each 2,000th run.
    {"expire", all_due,
     [](Table& table, std::uint64_t, std::uint64_t n) {
       if (n % Inventory::kDueMax != 0) return;
       table.inventory().sweep(table.now());
       table.commit();
     }},
    {"step_refusal", sold_out,
     [](Table& table, std::uint64_t rows, std::uint64_t n) { run_step(table, rows + n, "9000000000000000", ":-1"); }},
    {"view_refusal", sold_out_and_known,
     [](Table& table, std::uint64_t rows, std::uint64_t n) { run_view(table, rows + n, "9000000000000000", ":-1"); }},
    {"step_success", selling,
     [](Table& table, std::uint64_t rows, std::uint64_t n) {
       const std::string user = user_at(rows + n).text();
       run_step(table, rows + n, user, ":");
     }},
};

}  // namespace holdfast::bench
