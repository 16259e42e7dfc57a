#include "tools/holdfastctl_parked.h"

#include "protocol/names.h"
#include "protocol/outside_text.h"
#include "replication/parked_desk.h"
#include "storage/record_lines.h"
#include "tools/iso_time.h"
#include "tools/postgres_argument.h"
#include "tools/reservation_end.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <thread>

namespace holdfast {
namespace {

namespace json = boost::json;

constexpr std::chrono::seconds kTimeout{30};
constexpr Millis kLookEvery{100};
constexpr const char* kExamples =
    R"(What the tables refuse, with its reason, is parked in holdfast_parked; later events of the same reservation follow it there,
everything else flows. Nothing returns stock by itself: the unit stays taken at the server until a person decides.

  no_room         the item's quantity in the table has no room for it: make room, then retry; or cancel
  duplicate_live  the user has another live order of the item: end that one, then retry; or cancel
  bad_id          the tables have bigint ids, and item or user is no number, or another item has its number: cancel, or let it
                  end
  foreign_row     the order's row, or its item's, is gone, or is not as the log says: holdfastctl reconcile says what to do,
                  then retry
  refused         a constraint, column or trigger refuses the row, with the words that show has: change it, then retry; or cancel

retry writes what happened to it into the tables. cancel ends the reservation at the server (RELEASE, or REFUND when it is
confirmed), waits until the relay has carried that, and closes the entry:
  --unit return     the unit is available again
  --unit write-off  the unit leaves the server's total; the table's quantity follows, except where it has no room for the
                    unit: there somebody lowered it already, and it stays as it is
A change of stock that was refused is cancelled without --unit: it stays out of the table. The server needs the roles
reader and buyer for cancel, and nothing for the others.

examples:
  holdfastctl parked list --postgres 'host=db dbname=shop user=relay'
  holdfastctl parked show item:1001 6f2c1e0a-7b54-4c39-9d0e-3a1f5b8c2d47
  holdfastctl parked retry item:1001 6f2c1e0a-7b54-4c39-9d0e-3a1f5b8c2d47
  holdfastctl parked retry                      all that are parked
  holdfastctl parked cancel item:1001 6f2c1e0a-7b54-4c39-9d0e-3a1f5b8c2d47 --unit return

exit status: 0 done; 1 nothing is parked under that name, or it cannot be done, with the reason; 2 the database or the
server could not be asked)";

json::object show(const ParkedEntry& entry) {
  json::object shown{{"item", outside_text(entry.item)}, {"version", entry.version.value()}, {"key", entry.key}};
  shown["state"] = entry.state;
  if (!entry.cancel.empty()) shown["cancel"] = entry.cancel;
  shown["reason"] = entry.reason;
  shown["detail"] = entry.detail;
  if (entry.is_reservation()) {
    shown["user"] = *entry.user;
    shown["quantity"] = entry.quantity;
    shown["from"] = entry.from;
    shown["to"] = entry.to;
  }
  shown["stock-delta"] = entry.stock_delta;
  shown["sequences"] = fmt::format("{}..{}", entry.first.value(), entry.last.value());
  shown["parked-at"] = iso_time(entry.parked_at);
  shown["changed-at"] = iso_time(entry.changed_at);
  return shown;
}

std::string line_of(const ParkedEntry& entry) {
  const std::string what = entry.is_reservation() ? fmt::format("user {} x{} {}{}", *entry.user, entry.quantity,
                                                                entry.from.empty() ? "" : entry.from + " -> ", entry.to)
                                                  : fmt::format("stock {:+}", entry.stock_delta);
  return fmt::format("{}  {} v{}  {}  {}  {} ({}){}", iso_time(entry.parked_at), outside_text(entry.item),
                     entry.version.value(), entry.key, what, entry.reason, entry.detail,
                     entry.state == "parked" ? "" : "  " + entry.state);
}

struct ParkedArguments {
  std::string item, key, unit;
  bool all = false;
  std::uint32_t wait_seconds = 30;
};

class ParkedCommand {
 public:
  ParkedCommand(ParkedDesk& desk, ParkedArguments words, const ServerArguments& server)
      : desk_(desk), words_(std::move(words)), server_(server) {}

  Result<int> list() {
    const auto found = find(words_.all);
    if (!found) return found.error();
    if (server_.json) {
      json::array rows;
      for (const ParkedEntry& entry : *found) rows.push_back(show(entry));
      fmt::print("{}\n", render({{"parked", std::move(rows)}}, true));
      return kDone;
    }
    for (const ParkedEntry& entry : *found) fmt::print("{}\n", line_of(entry));
    if (found->empty()) fmt::print("nothing is parked\n");
    return kDone;
  }

  Result<int> show_one() {
    const auto found = find(true);
    if (!found) return found.error();
    for (const ParkedEntry& entry : *found) {
      if (server_.json) {
        fmt::print("{}\n", render(show(entry), true));
        continue;
      }
      for (const auto& field : show(entry)) {
        json::object one{{field.key(), field.value()}};
        fmt::print("{}\n", render(one, false));
      }
    }
    return found->empty() ? nothing() : kDone;
  }

  Result<int> retry() {
    const auto found = find(false);
    if (!found) return found.error();
    std::size_t left = 0;
    for (const ParkedEntry& entry : *found) {
      const auto why = desk_.retry(entry);
      if (!why) return why.error();
      if (!why->empty()) ++left;
      fmt::print("{} {}: {}\n", outside_text(entry.item), entry.key,
                 why->empty() ? "written" : "stays parked: " + *why);
    }
    if (found->empty() && words_.item.empty()) fmt::print("nothing is parked\n");
    if (found->empty() && !words_.item.empty()) return nothing();
    return left == 0 ? kDone : kNotOk;
  }

  Result<int> cancel() {
    const auto found = find(true);
    if (!found) return found.error();
    if (found->empty()) return nothing();
    const ParkedEntry& entry = found->back();
    if (entry.state == "cancelled") return said("is cancelled already", kDone);
    if (!entry.is_reservation()) return cancel_stock(entry);
    if (words_.unit.empty()) {
      fmt::print(stderr, "holdfastctl: say what becomes of the unit: --unit return, or --unit write-off\n");
      return kCouldNotTell;
    }
    const CancelUnit unit = words_.unit == "return" ? CancelUnit::give_back : CancelUnit::write_off;
    const auto over = desk_.version_ended(entry);
    if (!over) return over.error();
    if (*over) return cancel_of_ended_version(entry, unit);
    const auto client = connect(server_, kTimeout);
    if (!client) return client.error();
    HOLDFAST_TRY(check_version(**client, entry));
    const auto no = begin(entry, unit);
    if (!no) return no.error();
    if (*no) return **no;
    HOLDFAST_TRY(end_reservation(**client, entry.item, entry.key, unit == CancelUnit::write_off));
    return finish(entry);
  }

 private:
  Result<std::vector<ParkedEntry>> find(bool all) {
    ParkedFilter filter{"", words_.key, all};
    if (!words_.item.empty()) {
      // As it is shown; a name with a % that begins nothing may stand as it is.
      const auto name = ItemName::parse(inside_bytes(words_.item).value_or(words_.item));
      if (!name) return name.error();
      filter.item = std::string(name->bytes());
    }
    return desk_.find(filter);
  }

  int nothing() const {
    fmt::print(stderr, "holdfastctl: nothing of {} {} is parked\n", words_.item, words_.key);
    return kNotOk;
  }

  int said(std::string_view text, int status) const {
    fmt::print("{} {} {}\n", words_.item, words_.key, text);
    return status;
  }

  Result<int> cancel_stock(const ParkedEntry& entry) {
    const auto done = desk_.finish_cancel(entry);
    if (!done) return done.error();
    return said("cancelled: the change of stock stays out of the table", kDone);
  }

  /// Before anything is noted: an end that cannot come would be waited for for ever.
  static Result<void> check_version(RespClient& client, const ParkedEntry& entry) {
    const auto item = client.ask({"ITEM", "GET", entry.item});
    if (!item) return item.error();
    const Reply* const version = item->find("version");
    if (version != nullptr && static_cast<std::uint64_t>(version->integer) == entry.version.value()) return {};
    return Error::format(
        ErrorCode::err,
        "the server does not have version {} of {}: {}; is it the relay's server? If it dropped the item, "
        "do this again once the relay has carried that",
        entry.version.value(), outside_text(entry.item),
        item->is_error() ? Echo(item->text).text() : "it has another one");
  }

  /// The status with which it cannot be begun; nothing: it is.
  Result<std::optional<int>> begin(const ParkedEntry& entry, CancelUnit unit) {
    const auto begun = desk_.begin_cancel(entry, unit);
    if (!begun) return begun.error();
    if (*begun) return std::optional<int>();
    return std::optional(said(fmt::format("is {}: there is nothing to cancel, or not so", entry.state), kNotOk));
  }

  /// Neither server nor relay have anything to do with it any more.
  Result<int> cancel_of_ended_version(const ParkedEntry& entry, CancelUnit unit) {
    const auto no = begin(entry, unit);
    if (!no) return no.error();
    if (*no) return **no;
    const auto done = desk_.finish_cancel(entry);
    if (!done) return done.error();
    return said("cancelled: its version of the item has ended, and its units with that", kDone);
  }

  Result<int> finish(const ParkedEntry& entry) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(words_.wait_seconds);
    ProgressLine progress;
    for (;;) {
      const auto done = desk_.finish_cancel(entry);
      if (!done) return done.error();
      if (*done) return said("cancelled", kDone);
      if (std::chrono::steady_clock::now() >= deadline) break;
      progress.show("the relay has not carried its end yet");
      std::this_thread::sleep_for(kLookEvery);
    }
    return said("has ended at the server; the relay has not carried that yet: when it runs, do the same again", kNotOk);
  }

  ParkedDesk& desk_;
  ParkedArguments words_;
  const ServerArguments& server_;
};

}  // namespace

int parked_command(CommandWords words, ServerArguments arguments) {
  std::string postgres;
  ParkedArguments parked;
  CLI::App app("What PostgreSQL did not take, and what a person does about it.", "holdfastctl parked");
  add_postgres_option(app, postgres);
  add_server_options(app, arguments);
  const auto command = [&](const char* name, const char* what, bool needs_key) {
    CLI::App* const sub = app.add_subcommand(name, what)->fallthrough();
    sub->add_option("item", parked.item, "The item")->type_name("ITEM")->required(needs_key);
    sub->add_option("key", parked.key, "The order's id, or adjust:ID, sequence:N")
        ->type_name("KEY")
        ->required(needs_key);
    return sub;
  };
  CLI::App* const list = command("list", "what is parked, oldest first", false);
  list->add_flag("--all", parked.all, "Also what is not parked any more");
  const CLI::App* const show = command("show", "one of them, with all that is known", true);
  const CLI::App* const retry = command("retry", "try to write it, or all of them", false);
  CLI::App* const cancel = command("cancel", "end it, at the server and in the table", true);
  cancel->add_option("--unit", parked.unit, "What becomes of the unit: return or write-off")
      ->check(CLI::IsMember({"return", "write-off"}));
  cancel->add_option("--wait", parked.wait_seconds, "Seconds to wait for the relay, 30 if not said")->type_name("N");
  app.require_subcommand(1);
  app.footer(kExamples);
  if (const auto status = read_words(app, words)) return *status;
  const auto desk = ParkedDesk::open(postgres);
  if (!desk) return fail(desk.error());
  ParkedCommand run(**desk, parked, arguments);
  const auto done = list->parsed()    ? run.list()
                    : show->parsed()  ? run.show_one()
                    : retry->parsed() ? run.retry()
                                      : run.cancel();
  return done ? *done : fail(done.error());
}

}  // namespace holdfast
