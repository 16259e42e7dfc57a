#include "tests/unit/server/step_bench.h"

#include "storage/record_reader.h"

#include <fmt/format.h>

#include <map>
#include <stdexcept>

namespace holdfast::testing {
namespace {

int hex_digit(char c) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  const std::size_t digit = kDigits.find(c);
  if (digit == std::string_view::npos) throw std::runtime_error("not a hexadecimal digit");
  return static_cast<int>(digit);
}

/// The byte that is escaped at `i`, where the backslash is; moves `i` to its last character.
char escaped(std::string_view line, std::size_t& i) {
  const char next = line.at(++i);
  if (next == 'r') return '\r';
  if (next == 'n') return '\n';
  if (next != 'x') return next;
  const int byte = 16 * hex_digit(line.at(i + 1)) + hex_digit(line.at(i + 2));
  i += 2;
  return static_cast<char>(byte);
}

/// Every row is found by its id, and every user by his rows, which add up to what the index says of him.
void check_indexes(Inventory& inventory) {
  InventoryAccess::each_item(inventory, [](const Item& item) {
    const ItemRows& rows = *item.rows;
    std::map<std::string, UserRows> users;
    std::uint64_t count = 0;
    for (std::uint32_t slot = 0; slot < rows.slots_end(); ++slot) {
      const Row& row = rows.row(RowSlot(slot));
      if (row.state() == ReservationState::none) continue;
      ++count;
      if (rows.find(row.id) != RowSlot(slot)) throw std::runtime_error("a row is not found by its id");
      if (!row.live()) continue;
      UserRows& user = users[rows.user(RowSlot(slot)).text()];
      ++(row.state() == ReservationState::reserved ? user.reserved : user.confirmed);
      user.units += rows.quantity(RowSlot(slot));
    }
    if (count != rows.row_count()) throw std::runtime_error("the index of ids has another size than there are rows");
    if (users.size() != rows.live_users()) throw std::runtime_error("another number of users than live ones");
    for (const auto& [text, expected] : users) {
      const UserRows found = rows.find_user(UserId::parse(text).value());
      if (found.reserved != expected.reserved || found.confirmed != expected.confirmed ||
          found.units != expected.units) {
        throw std::runtime_error("the index of users has other rows of " + quoted(text));
      }
    }
  });
}

}  // namespace

std::vector<std::string> split_words(std::string_view line) {
  std::vector<std::string> words;
  bool inside = false;
  bool in_quotes = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (!in_quotes && c == ' ') {
      inside = false;
      continue;
    }
    if (!inside) words.emplace_back();
    inside = true;
    if (c == '"') {
      in_quotes = !in_quotes;
    } else if (c == '\\' && in_quotes) {
      words.back() += escaped(line, i);
    } else {
      words.back() += c;
    }
  }
  if (in_quotes) throw std::runtime_error("a quote is not closed");
  return words;
}

StepBench::StepBench(const Inventory::Settings& settings)
    : settings_(settings),
      live_(std::make_unique<Inventory>(settings, tape_)),
      replica_(std::make_unique<Inventory>(settings, replica_tape_)) {}

ReplyValue StepBench::run(const std::vector<std::string>& words) {
  ReplyValue reply = execute(*live_, words, false);
  inspect();
  return reply;
}

ReplyValue StepBench::run_when_wait_is_over(std::string_view line) {
  ReplyValue reply = execute(*live_, split_words(line), true);
  inspect();
  return reply;
}

/// What waits answers a status: <waits>.
ReplyValue StepBench::execute(Inventory& inventory, const std::vector<std::string>& words, bool wait_is_over) {
  const std::vector<std::string_view> views(words.begin(), words.end());
  std::string bytes;
  ReplyWriter writer(bytes, version_);
  const auto command = find_command(views);
  if (!command) {
    writer.error(command.error());
    if (transaction_.is_open()) transaction_.abort();
    return ReplyValue::decode(bytes);
  }
  if (execute_transaction(inventory, **command, views, writer)) return ReplyValue::decode(bytes);
  result_ = step(inventory, **command, views, now_, writer, wait_is_over);
  if (result_.waits != bytes.empty()) throw std::runtime_error("neither one reply nor a wait");
  if (!result_.waits) return ReplyValue::decode(bytes);
  ReplyValue waits;
  waits.kind = ReplyValue::Kind::status;
  waits.text = "<waits>";
  return waits;
}

bool StepBench::execute_transaction(Inventory& inventory, const CommandEntry& entry, Words words, ReplyWriter& reply) {
  result_ = {};
  switch (entry.id) {
    case CommandId::multi:
      transaction_.begin();
      return reply.status("OK"), true;
    case CommandId::discard:
      transaction_.clear();
      return reply.status("OK"), true;
    case CommandId::watch: {
      const auto watched = transaction_.watch(words);
      if (!watched) return reply.error(watched.error()), true;
      if (*watched) watched_ = watch_mark(inventory, transaction_.watch_message()[1], now_);
      return reply.status("OK"), true;
    }
    case CommandId::exec:
      if (transaction_.is_aborted()) {
        reply.error(Error(ErrorCode::exec_abort, "Transaction discarded because of previous errors."));
      } else {
        result_ = run_transaction(inventory, transaction_.pack(), watched_, now_, reply);
      }
      transaction_.clear();
      return true;
    default:
      break;
  }
  if (!transaction_.is_open()) return false;
  const auto queued = transaction_.queue(entry, words);
  queued ? reply.status("QUEUED") : reply.error(queued.error());
  return true;
}

int StepBench::sweep() {
  int sweeps = 1;
  while (live_->sweep(now_)) {
    inspect();
    if (++sweeps > 100'000) throw std::runtime_error("the sweep does not end");
  }
  inspect();
  return sweeps;
}

void StepBench::restart() {
  live_ = std::make_unique<Inventory>(settings_, tape_);
  if (const auto applied = tape_.play(0, *live_); !applied) {
    throw std::runtime_error("a restart refuses a record: " + std::string(applied.error().text()));
  }
  inspect();
}

void StepBench::open_group() {
  group_ = group_.next();
  tape_.begin_group();
  live_->open_group(group_);
}

void StepBench::make_durable() { live_->on_group_durable(group_, tape_.group_first_lsn()); }

void StepBench::inspect() {
  if (tape_.size() > played_) feed_replica();
  if (broken_) return;
  if (!(live_->seal() == replica_->seal())) throw std::runtime_error("the state hash is not the replica's");
  if (!(live_->seal() == hasher_.state())) throw std::runtime_error("the state hash is not what the records make");
}

/// The records since the last time become bytes and are read as recovery does.
void StepBench::feed_replica() {
  encoded_.open(GroupOrdinal(1));
  tape_.write(played_, encoded_);
  const Lsn clock(RecordTape::lsn(played_).value() - 1);
  const BatchBody body{encoded_.bytes(), clock, encoded_.record_count(), Lsn()};
  const auto read = read_records(body, *replica_);
  if (!read) throw std::runtime_error("the replica refuses a record: " + std::string(read.error().text()));
  if (read->visited != tape_.size() - played_) throw std::runtime_error("the log shows another number of records");
  if (!read_records(body, hasher_)) throw std::runtime_error("the hasher refuses a record");
  played_ = tape_.size();
}

void StepBench::compare_all() {
  const auto same = [this](const std::vector<std::string>& words) {
    std::string live = execute(*live_, words, false).to_text();
    const std::string replica = execute(*replica_, words, false).to_text();
    if (live == replica) return live;
    throw std::runtime_error(fmt::format("{} {} {}: live {}, replica {}", words[0], words[1],
                                         words.size() > 2 ? words[2] : "", live, replica));
  };
  check_indexes(*live_);
  check_indexes(*replica_);
  if (const std::string broken = same({"ITEM", "VERIFY", "*"}); broken != "[]") throw std::runtime_error(broken);
  same({"ITEM", "LIST", "COUNT", "10000"});
  std::vector<std::string> names;
  InventoryAccess::each_item(*live_, [&](const Item& item) { names.push_back(item.named->name); });
  for (const std::string& name : names) {
    same({"ITEM", "GET", name});
    same({"RESERVATION", "LIST", name, "COUNT", "10000"});
    same({"SMEMBERS", "{" + name + "}:buyers"});
  }
  if (replica_tape_.size() != 0) throw std::runtime_error("a read made the replica change");
  inspect();
}

}  // namespace holdfast::testing
