#include "tools/holdfastctl_dlt.h"

#include "protocol/outside_text.h"
#include "replication/dead_letter_desk.h"
#include "replication/outside_id.h"
#include "storage/machine_clock.h"
#include "storage/record_lines.h"
#include "tools/iso_time.h"
#include "tools/kafka_argument.h"
#include "tools/reservation_end.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

namespace holdfast {
namespace {

namespace json = boost::json;

constexpr std::chrono::seconds kTimeout{30};
constexpr std::size_t kReplayAtOnce = 1000;  // letters in a transaction

constexpr const char* kExamples =
    R"(A consumer that cannot take a record puts it into TOPIC.DLT, as Spring's DeadLetterPublishingRecoverer and Kafka Connect do; the relay
writes nothing there. What was done about each is kept in the cursor topic. They are named PARTITION/OFFSET.

replay sends a record again, once: as it was, to the topic and the partition of its item, with the header holdfast_replay, and without
those about its refusal. What was sent and the note of it are one transaction; whoever tries it again is refused. The consumer gets it
behind later events of the item. If it refuses it again, that is another dead letter.

cancel ends the reservation at the server by its id (RELEASE, or REFUND when it is confirmed) and notes that. For a person who decided
that the order is not to be; one that has ended by itself is only noted.
  --unit return     the unit is available again, if not said
  --unit write-off  the unit leaves the server's total
It needs the roles reader and buyer.

Kafka's rights: Describe of the topic, Read of TOPIC.DLT and of the cursor topic; replay and cancel also Write and DescribeConfigs of the
topic and of the cursor topic, Write of the transactional id holdfast-dlt/CURSOR-TOPIC/TOPIC.

examples:
  holdfastctl dlt list --kafka k1:9092,k2:9092 --topic flash-sale-orders
  holdfastctl dlt show 3/117
  holdfastctl dlt replay 3/117
  holdfastctl dlt replay --all                  all that wait, partition by partition
  holdfastctl dlt cancel 3/117 --unit return --server stock:7379

exit status: 0 done; 1 there is none of that name, or it is done with already, or it cannot be done, with the reason; 2 brokers or
server could not be asked)";

json::object show(const DeadLetter& letter, DeadLetterMark mark) {
  const std::string_view state = dead_letter_state_name(mark.state);
  json::object shown{{"letter", place_text(letter.message.place)},
                     {"at", iso_time(letter.message.at)},
                     {"state", json::string_view(state.data(), state.size())}};
  if (mark.state != DeadLetterState::waiting) shown["done-at"] = iso_time(mark.at);
  if (letter.order) {
    shown["item"] = outside_text(letter.order->item);
    shown["version"] = letter.order->version.value();
    shown["sequence"] = letter.order->sequence;
    shown["order"] = id_text(letter.order->id);
    shown["user"] = letter.order->user;
    shown["quantity"] = letter.order->quantity;
  } else {
    shown["key"] = outside_text(letter.message.key);
  }
  if (!letter.origin.empty()) shown["was"] = letter.origin;
  if (!letter.reason.empty()) shown["reason"] = letter.reason;
  return shown;
}

json::object show_all(const DeadLetter& letter, DeadLetterMark mark) {
  json::object shown = show(letter, mark);
  shown["key"] = outside_text(letter.message.key);
  json::object headers;
  for (const KafkaHeader& each : letter.message.headers) headers[each.name] = outside_text(each.value);
  shown["headers"] = std::move(headers);
  if (letter.message.value) shown["value"] = outside_text(*letter.message.value);
  return shown;
}

std::string line_of(const DeadLetter& letter, DeadLetterMark mark) {
  const std::string what = letter.order
                               ? fmt::format("{} v{} #{}  order {} user {} x{}", outside_text(letter.order->item),
                                             letter.order->version.value(), letter.order->sequence,
                                             id_text(letter.order->id), letter.order->user, letter.order->quantity)
                               : fmt::format("key {}, {} bytes, no order", outside_text(letter.message.key),
                                             letter.message.value ? letter.message.value->size() : 0);
  const std::string done = mark.state == DeadLetterState::waiting
                               ? ""
                               : fmt::format("  {} {}", dead_letter_state_name(mark.state), iso_time(mark.at));
  return fmt::format("{}  {}  {}{}{}{}", place_text(letter.message.place), iso_time(letter.message.at), what,
                     letter.reason.empty() ? "" : "  ", letter.reason, done);
}

struct DltArguments {
  KafkaWords kafka;
  std::string topic = kKafkaOrdersTopic;
  std::string place_text;
  KafkaPlace place;  // what it says
  bool all = false;
  std::string unit = "return";
};

class DltCommand {
 public:
  DltCommand(DeadLetterDesk& desk, const DltArguments& words, const ServerArguments& server)
      : desk_(desk), words_(words), server_(server) {}

  Result<int> list() {
    std::size_t shown = 0;
    HOLDFAST_TRY(desk_.visit([&](MarkedLetter&& each) -> Result<void> {
      if (each.mark.state != DeadLetterState::waiting && !words_.all) return {};
      ++shown;
      fmt::print("{}\n", server_.json ? render(show(each.letter, each.mark), true) : line_of(each.letter, each.mark));
      return {};
    }));
    if (shown == 0 && !server_.json) fmt::print("{}: nothing {}\n", topic(), words_.all ? "is there" : "waits");
    return kDone;
  }

  Result<int> show_one() {
    const auto found = find();
    if (!found) return found.error();
    if (!*found) return nothing();
    const json::object shown = show_all((*found)->letter, (*found)->mark);
    if (server_.json) {
      fmt::print("{}\n", render(shown, true));
      return kDone;
    }
    for (const auto& field : shown) {
      if (field.key() == "headers") {
        for (const auto& header : field.value().get_object())
          fmt::print("header {}: {}\n", header.key(), header.value().get_string());
      } else {
        fmt::print(
            "{}: {}\n", field.key(),
            field.value().is_string() ? std::string(field.value().get_string()) : json::serialize(field.value()));
      }
    }
    return kDone;
  }

  Result<int> replay() {
    HOLDFAST_TRY(desk_.begin());
    return words_.all ? replay_all() : replay_one();
  }

  Result<int> cancel() {
    HOLDFAST_TRY(desk_.begin());
    const auto found = find();
    if (!found) return found.error();
    if (!*found) return nothing();
    const auto& [letter, mark] = **found;
    if (mark.state == DeadLetterState::cancelled) return said("is cancelled already", kDone);
    if (mark.state == DeadLetterState::replayed)
      return said("was replayed: if its consumer refused it again, that is another dead letter", kNotOk);
    if (!letter.order) return said("is no order: there is nothing to release", kNotOk);
    const auto client = connect(server_, kTimeout);
    if (!client) return client.error();
    const auto ended = end_at_server(**client, letter);
    if (!ended) return ended.error();
    HOLDFAST_TRY(desk_.cancelled(letter, now()));
    return said("cancelled: " + *ended, kDone);
  }

 private:
  std::string topic() const { return dead_letter_topic(words_.topic); }

  Result<std::optional<MarkedLetter>> find() { return desk_.find(words_.place); }

  int nothing() const {
    fmt::print(stderr, "holdfastctl: {} has no {}\n", topic(), words_.place_text);
    return kNotOk;
  }

  int said(std::string_view text, int status) const {
    fmt::print("{} {} {}\n", topic(), words_.place_text, text);
    return status;
  }

  Result<int> replay_one() {
    const auto found = find();
    if (!found) return found.error();
    if (!*found) return nothing();
    const auto& [letter, mark] = **found;
    if (mark.state != DeadLetterState::waiting) {
      return said(fmt::format("was {} {}: it is not sent again", dead_letter_state_name(mark.state), iso_time(mark.at)),
                  kNotOk);
    }
    HOLDFAST_TRY(desk_.replay(std::span(&letter, 1), now()));
    return said("replayed to " + words_.topic, kDone);
  }

  Result<int> replay_all() {
    std::vector<DeadLetter> letters;
    std::size_t replayed = 0;
    const auto send = [&]() -> Result<void> {
      HOLDFAST_TRY(desk_.replay(letters, now()));
      for (const DeadLetter& each : letters) fmt::print("{} replayed\n", place_text(each.message.place));
      replayed += letters.size();
      letters.clear();
      return {};
    };
    HOLDFAST_TRY(desk_.visit([&](MarkedLetter&& each) -> Result<void> {
      if (each.mark.state != DeadLetterState::waiting) return {};
      letters.push_back(std::move(each.letter));
      return letters.size() < kReplayAtOnce ? Result<void>() : send();
    }));
    if (!letters.empty()) HOLDFAST_TRY(send());
    fmt::print("{}: {} replayed to {}\n", topic(), replayed, words_.topic);
    return kDone;
  }

  /// What became of the reservation there. Errors: `err` when that is not the server from which the order comes.
  Result<std::string> end_at_server(RespClient& client, const DeadLetter& letter) {
    const DeadOrder& order = *letter.order;
    const auto same_log = is_log(client, letter);
    if (!same_log) return same_log.error();
    const auto item = client.ask({"ITEM", "GET", order.item});
    if (!item) return item.error();
    const Reply* const found = item->find("version");
    if (found == nullptr) {
      const bool dropped = *same_log && item->is_error() && item->text.starts_with("NOITEM");
      if (dropped) return std::string("its item was dropped, and its units with that");
      return Error::format(ErrorCode::err, "the server says of {}: {}", outside_text(order.item),
                           item->is_error() ? Echo(item->text).text() : "nothing");
    }
    const auto version = static_cast<std::uint64_t>(found->integer);
    if (version > order.version.value())
      return std::string("its version of the item has ended, and its units with that");
    if (version < order.version.value()) {
      return Error::format(ErrorCode::err, "the server has version {} of {}, and the order is of version {}", version,
                           outside_text(order.item), order.version.value());
    }
    const auto state = end_reservation(client, order.item, id_text(order.id), words_.unit == "write-off");
    if (!state) return state.error();
    if (*state == "RESERVED") return std::string("released");
    if (*state == "CONFIRMED") return std::string("refunded");
    if (!state->empty()) return "it had ended: " + *state;
    if (*same_log) return std::string("it had ended, and the server has forgotten it");
    return Error::format(ErrorCode::err, "the server does not know the reservation {}", id_text(order.id));
  }

  /// Whether the server has the log that the letter comes from, or one that went on from it. False when the letter does not say.
  static Result<bool> is_log(RespClient& client, const DeadLetter& letter) {
    if (!letter.log) return false;
    const auto info = client.ask({"INFO"});
    if (!info) return info.error();
    if (info->text.find("log_id:" + log_id_text(*letter.log)) != std::string::npos) return true;
    return Error::format(ErrorCode::err, "the order comes from log {}, and the server has another one",
                         log_id_text(*letter.log));
  }

  WallTime now() { return WallTime(std::chrono::floor<Millis>(clock_.read().wall)); }

  DeadLetterDesk& desk_;
  const DltArguments& words_;
  const ServerArguments& server_;
  MachineClock clock_;
};

}  // namespace

int dlt_command(CommandWords words, ServerArguments arguments) {
  DltArguments dlt;
  CLI::App app("What consumers of the relay's topics refused, and what a person does about it.", "holdfastctl dlt");
  add_kafka_options(app, dlt.kafka);
  add_cursor_topic_option(app, dlt.kafka);
  app.add_option("--topic", dlt.topic, "The topic that they were read from, flash-sale-orders if not said.")
      ->type_name("TOPIC");
  add_server_options(app, arguments);
  const auto command = [&](const char* name, const char* what) {
    return app.add_subcommand(name, what)->fallthrough();
  };
  const auto add_place = [&](CLI::App* sub, bool required) {
    sub->add_option("letter", dlt.place_text, "Which one, as dlt list shows it")
        ->type_name("PARTITION/OFFSET")
        ->required(required);
    return sub;
  };
  CLI::App* const list = command("list", "those that wait, partition by partition");
  list->add_flag("--all", dlt.all, "Also those that are done with");
  const CLI::App* const show = add_place(command("show", "one of them, with its headers and its value"), true);
  CLI::App* const replay = add_place(command("replay", "send it again, or all of them"), false);
  replay->add_flag("--all", dlt.all, "All that wait");
  CLI::App* const cancel = add_place(command("cancel", "end its reservation at the server"), true);
  cancel->add_option("--unit", dlt.unit, "What becomes of the unit: return or write-off")
      ->check(CLI::IsMember({"return", "write-off"}));
  app.require_subcommand(1);
  app.footer(kExamples);
  if (const auto status = read_words(app, words)) return *status;
  if (replay->parsed() && dlt.all == !dlt.place_text.empty())
    return fail(Error::format(ErrorCode::bad_option, "say which one, or --all"));
  if (!dlt.place_text.empty()) {
    const auto place = parse_place(dlt.place_text);
    if (!place) return fail(place.error());
    dlt.place = *place;
  }
  const auto access = kafka_access(dlt.kafka);
  if (!access) return fail(access.error());
  const auto desk = DeadLetterDesk::open(*access, {dlt.topic, dlt.kafka.cursor_topic});
  if (!desk) return fail(desk.error());
  DltCommand run(**desk, dlt, arguments);
  const auto done = list->parsed()     ? run.list()
                    : show->parsed()   ? run.show_one()
                    : replay->parsed() ? run.replay()
                                       : run.cancel();
  return done ? *done : fail(done.error());
}

}  // namespace holdfast
