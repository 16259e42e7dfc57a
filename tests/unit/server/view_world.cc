#include "tests/unit/server/view_world.h"

#include "server/step.h"
#include "server/view_map.h"
#include "tests/simulation/seeded_random.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <deque>
#include <map>

namespace holdfast::testing {
namespace {

struct RowTruth {
  std::string user;
  std::string id;
  std::int64_t quantity;
  bool live;
  std::optional<HoldTime> deadline;  // of a RESERVED one
};

struct ItemTruth {
  ItemNumber number;
  GroupOrdinal group;  // of the last change
  std::string sale;    // SCOPE sale only
  ItemState state;
  bool fenced;
  Counters counters;
  Sequence sequence;
  ItemDefinition definition;
  std::vector<RowTruth> rows;
};

struct Truth {
  std::uint64_t begin;
  std::uint64_t end;
  std::map<std::string, ItemTruth, std::less<>> items;
};

struct Answer {
  std::string line;
  std::uint64_t begin;
  std::uint64_t end;
  GroupOrdinal durable;
  Now now;
  Refusal refusal;
};

struct Message {
  ViewNews news;        // or
  RetiredView retired;  // with a ticket
};

struct Reader {
  explicit Reader(const ViewHashes& hashes) : map(hashes) {}
  ViewMap map;
  std::deque<Message> inbox;
};

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  while (!line.empty()) {
    const std::size_t end = std::min(line.find(' '), line.size());
    words.push_back(line.substr(0, end));
    line.remove_prefix(std::min(end + 1, line.size()));
  }
  return words;
}

std::int64_t units_of(const ItemTruth& item, std::string_view user) {
  std::int64_t units = 0;
  for (const RowTruth& row : item.rows) units += row.live && row.user == user ? row.quantity : 0;
  return units;
}

/// What the user has of an item of the sale, or had when it was last durable: whichever is more.
std::int64_t units_of(std::span<const Truth> truths, const std::string& name, std::string_view user,
                      GroupOrdinal durable) {
  const ItemTruth& item = truths.back().items.at(name);
  std::int64_t units = units_of(item, user);
  for (std::size_t i = truths.size(); i-- > 0;) {
    const auto before = truths[i].items.find(name);
    if (before == truths[i].items.end() || before->second.number != item.number) break;
    if (before->second.group > durable) continue;
    units = std::max(units, units_of(before->second, user));
    break;
  }
  return units;
}

/// What a refusal says is what the last of these states says, and it is durable.
bool fits(std::span<const Truth> truths, const Answer& answer) {
  const Truth& truth = truths.back();
  const auto request = parse_reserve(words_of(answer.line));
  const auto found = truth.items.find(request->item.bytes());
  if (found == truth.items.end() || found->second.fenced || found->second.group > answer.durable) return false;
  const ItemTruth& item = found->second;
  const Refusal& refusal = answer.refusal;
  std::int64_t units = request->quantity;
  for (const auto& [name, other] : truth.items) {
    if (&other != &item && (item.sale.empty() || other.sale != item.sale)) continue;
    units += units_of(truths, name, request->user.text(), answer.durable);
  }
  const auto passed = [&](WallTime moment) { return moment != WallTime() && moment <= answer.now.wall; };
  bool due = false;
  for (const RowTruth& row : item.rows) {
    const auto id = request->id ? request->id->text() : std::array<char, ReservationId::kTextBytes>();
    if (request->id && row.id == std::string_view(id.data(), id.size())) return false;
    due = due || (row.deadline && *row.deadline <= answer.now.hold);
  }
  if (item.definition.limit != 0 && units > item.definition.limit) return false;
  if (item.state == ItemState::ready && passed(item.definition.opens_at)) return false;
  if ((item.state == ItemState::open || item.state == ItemState::paused) && passed(item.definition.closes_at)) {
    return false;
  }
  if (refusal.outcome != state_refusal(item.state) || refusal.sequence != item.sequence) return false;
  if (item.state != ItemState::open) return refusal.opens_at == item.definition.opens_at;
  return !due && item.counters.available < request->quantity && refusal.reserved == item.counters.reserved;
}

class World final : private RecordSink {
 public:
  explicit World(std::size_t readers) : inventory_({}, *this) {
    for (std::size_t i = 0; i < readers; ++i) readers_.emplace_back(inventory_.views().hashes());
    inventory_.open_group(group_);
    snapshot();
  }

  void own(std::string_view line) {
    ViewScheduler::access(false);
    act(line);
    if (changing_) snapshot();
    changing_ = false;
    for (; closed_ + 1 < truths_.size(); ++closed_) truths_[closed_].end = ViewScheduler::tick();
    send();
  }

  void ask(std::size_t reader, const std::string& line) {
    ViewScheduler::access(false);
    Reader& self = readers_[reader];
    receive(self);
    const std::uint64_t begin = ViewScheduler::tick();
    const Now now = now_;
    const auto refusal = self.map.look(*parse_reserve(words_of(line)), ViewTime::of(now));
    if (refusal) answers_.push_back({line, begin, ViewScheduler::tick(), durable_, now, *refusal});
  }

  ViewRun judge() const {
    ViewRun run;
    for (const Answer& answer : answers_) {
      ++run.answers;
      bool right = false;
      for (std::size_t i = 0; i < truths_.size() && !right; ++i) {
        right = truths_[i].begin <= answer.end && truths_[i].end >= answer.begin &&
                fits(std::span(truths_).first(i + 1), answer);
      }
      if (right) continue;
      run.violation =
          fmt::format("{} at {}..{} was answered {} sequence {}, which no durable state said", answer.line,
                      answer.begin, answer.end, reply_number(answer.refusal.outcome), answer.refusal.sequence.value());
    }
    return run;
  }

 private:
  void act(std::string_view line) {
    if (line == "@seal") return seal();
    if (line == "@durable") return make_durable();
    if (line == "@sweep") return static_cast<void>(inventory_.sweep(now_));
    if (line == "@build") {
      while (inventory_.views().work(now_)) continue;
      return;
    }
    const bool wall_alone = line.starts_with("@wall+");
    if (wall_alone || line.starts_with("@+")) {
      const Millis time(std::stoll(std::string(line.substr(wall_alone ? 6 : 2))));
      Now next = now_;
      next.wall += time;
      if (!wall_alone) next.hold += time;
      // The shard looks at its clocks before any thread can have asked at a time that is so far off.
      inventory_.views().see(next);
      now_ = next;
      return;
    }
    const auto words = words_of(line);
    std::string bytes;
    ReplyWriter reply(bytes, RespVersion::resp2);
    const StepResult result = step(inventory_, **find_command(words), words, now_, reply);
    if (words[0] != "RESERVE" || !bytes.starts_with(":-")) return;
    for (std::size_t i = 0; i < readers_.size(); ++i) {
      inventory_.views().tell(inventory_.item_at(result.item_index), i);
    }
  }

  void seal() {
    if (sealed_ != GroupOrdinal()) return;
    inventory_.seal();
    sealed_ = group_;
    group_ = group_.next();
    inventory_.open_group(group_);
  }

  void make_durable() {
    seal();
    inventory_.on_group_durable(sealed_, Lsn(group_.value() * 1000));
    durable_ = sealed_;
    sealed_ = GroupOrdinal();
    inventory_.views().publish(now_);
  }

  /// As the shell between the shard and the threads: news first, then what is to be forgotten.
  void send() {
    const auto retired = inventory_.views().take_retired();
    for (std::size_t i = 0; i < readers_.size(); ++i) {
      for (ViewNews& news : inventory_.views().take_news(i)) readers_[i].inbox.push_back({std::move(news), {}});
      for (const RetiredView& one : retired) readers_[i].inbox.push_back({{}, one});
    }
    for (auto& [ticket, answered] : answered_) {
      if (answered == readers_.size()) inventory_.views().reclaim(ticket);
    }
    std::erase_if(answered_, [&](const auto& one) { return one.second == readers_.size(); });
  }

  void receive(Reader& reader) {
    for (; !reader.inbox.empty(); reader.inbox.pop_front()) {
      const Message& message = reader.inbox.front();
      if (message.news.view != nullptr) {
        reader.map.learn(message.news.item, message.news.view);
        continue;
      }
      reader.map.forget(message.retired.view);
      ++answered_[message.retired.ticket];
    }
  }

  RecordPosition on_record() {
    if (changing_) snapshot();
    changing_ = true;
    begin_ = ViewScheduler::tick();
    return position_++;
  }
  RecordPosition on_item(const RecordStamp&, const ItemRecord&) override { return on_record(); }
  RecordPosition on_reservation(const RecordStamp&, const ReservationRecord&) override { return on_record(); }
  RecordPosition on_forget(const RecordStamp&, const ForgetRecord&) override { return on_record(); }
  RecordPosition on_default_returns(const RecordStamp&, const DefaultReturnsRecord&) override { return on_record(); }

  void snapshot() {
    Truth truth{begin_, UINT64_MAX, {}};
    for (std::size_t index = 0; index < inventory_.indexes_end(); ++index) {
      const Item* item = inventory_.item_at(index);
      if (item == nullptr) continue;
      const std::string& name = item->named->name;
      ItemTruth& seen = truth.items[name];
      seen = {item->number,   group_,           item->sale == nullptr ? "" : item->sale->tag(),
              item->state,    item->fenced,     item->counters,
              item->sequence, item->definition, {}};
      if (!truths_.empty()) {
        const auto before = truths_.back().items.find(name);
        const bool same = before != truths_.back().items.end() && before->second.number == item->number &&
                          before->second.sequence == item->sequence;
        if (same) seen.group = before->second.group;
      }
      for (std::uint32_t at = 0; at < item->rows->slots_end(); ++at) {
        const RowSlot slot(at);
        const Row& row = item->rows->row(slot);
        if (row.state() == ReservationState::none) continue;
        const auto id = row.id.text();
        const bool reserved = row.state() == ReservationState::reserved;
        seen.rows.push_back({item->rows->user(slot).text(), std::string(id.data(), id.size()),
                             item->rows->quantity(slot), row.live(),
                             reserved ? item->rows->deadline(slot) : std::nullopt});
      }
    }
    truths_.push_back(std::move(truth));
  }

  RecordPosition position_ = 0;
  Inventory inventory_;
  std::deque<Reader> readers_;
  Now now_{hold_time(1'000'000), wall_time(1'800'000'000'000), {}};
  GroupOrdinal group_{1};
  GroupOrdinal sealed_;
  GroupOrdinal durable_;
  std::vector<Truth> truths_;
  std::size_t closed_ = 0;  // states before this have ended
  bool changing_ = false;
  std::uint64_t begin_ = 0;
  std::vector<Answer> answers_;
  std::map<RetireTicket, std::size_t> answered_;
};

const char* pick(simulation::Dice& dice, std::initializer_list<const char*> choices) {
  return choices.begin()[dice.below(choices.size())];
}

std::string random_reserve(simulation::Dice& dice, const char* item) {
  std::string line = fmt::format("RESERVE {} {}", item, 1 + dice.below(4));
  if (dice.chance(1, 4)) line += fmt::format(" QTY {}", 1 + dice.below(2));
  if (dice.chance(1, 3)) line += fmt::format(" ID 00000000-0000-4000-8000-{:012}", dice.below(3));
  if (dice.chance(1, 4)) line += fmt::format(" TTL {}", 1 + dice.below(8));
  return line;
}

std::string random_owner_line(simulation::Dice& dice, const char* item) {
  switch (dice.below(16)) {
    case 0:
    case 1:
    case 2:
    case 3:
      return random_reserve(dice, item);
    case 4:
    case 5:
      return fmt::format("RELEASE {} {}", item, 1 + dice.below(4));
    case 6:
      return fmt::format("CONFIRM {} {} RESUME", item, 1 + dice.below(4));
    case 7:
      return fmt::format("ITEM {} {}", pick(dice, {"PAUSE", "OPEN", "OPEN", "CLOSE", "DROP"}), item);
    case 8:
      return fmt::format("ITEM ADJUST {} {} ID 00000000-0000-4000-8000-{:012} REASON x", item,
                         dice.chance(1, 2) ? 1 : -1, dice.below(1000));
    case 9:
      return fmt::format("ITEM SET {} LIMIT {} EXPECT {}", item, dice.below(3), dice.below(3));
    case 10:
      return fmt::format("@+{}ms", 1 + dice.below(6));
    case 11:
      return pick(dice, {"@sweep", "@seal", "@wall+20ms"});
    case 12:
      return "@build";
    default:
      return "@durable";
  }
}

}  // namespace

std::string ViewProgram::text() const {
  std::string text = fmt::format("setup: {}\nowner: {}\n", fmt::join(setup, "; "), fmt::join(owner, "; "));
  for (const auto& reader : readers) text += fmt::format("reader: {}\n", fmt::join(reader, "; "));
  return text;
}

ViewRun run_views(const ViewProgram& program, const ViewScheduler::Choose& choose) {
  ViewScheduler scheduler;
  World world(program.readers.size());
  for (const auto& line : program.setup) world.own(line);
  scheduler.add([&] {
    for (const auto& line : program.owner) world.own(line);
  });
  for (std::size_t i = 0; i < program.readers.size(); ++i) {
    scheduler.add([&world, &program, i] {
      for (const auto& line : program.readers[i]) world.ask(i, line);
    });
  }
  scheduler.run(choose);
  return world.judge();
}

ViewProgram random_view_program(std::uint64_t seed) {
  simulation::Dice dice(seed);
  ViewProgram program;
  constexpr const char* kItems[] = {"a", "{s}b", "{s}c"};
  const std::size_t items = 1 + dice.below(3);
  for (std::size_t i = 0; i < items; ++i) {
    const char* window = pick(dice, {"", "", "", " OPENS-AT 1800000000006", " CLOSES-AT 1800000000006"});
    program.setup.push_back(fmt::format("ITEM CREATE {} STOCK {} LIMIT {} SCOPE {} TTL 10{}", kItems[i], dice.below(3),
                                        dice.below(3), i == 0 ? "item" : "sale", window));
  }
  const auto item = [&] { return kItems[dice.below(items)]; };
  for (std::uint64_t left = dice.below(5); left > 0; --left) program.setup.push_back(random_reserve(dice, item()));
  for (std::size_t i = 0; i < items; ++i) program.setup.push_back(fmt::format("RESERVE {} 9", kItems[i]));
  program.setup.insert(program.setup.end(), {"@build", "@durable"});
  for (std::size_t i = 0; i < items; ++i) program.setup.push_back(fmt::format("RESERVE {} 9", kItems[i]));
  for (std::uint64_t left = 2 + dice.below(10); left > 0; --left) {
    program.owner.push_back(random_owner_line(dice, item()));
  }
  program.readers.resize(1 + dice.below(2));
  for (auto& reader : program.readers) {
    for (std::uint64_t left = 1 + dice.below(5); left > 0; --left) reader.push_back(random_reserve(dice, item()));
  }
  return program;
}

ViewRun run_random_views(std::uint64_t seed) {
  simulation::Dice dice(~seed);
  const std::uint64_t changes = 1 + dice.below(8);
  return run_views(random_view_program(seed), [&](std::size_t ways, bool goes_on) {
    return goes_on && !dice.chance(changes, 10) ? std::size_t{0} : static_cast<std::size_t>(dice.below(ways));
  });
}

}  // namespace holdfast::testing
