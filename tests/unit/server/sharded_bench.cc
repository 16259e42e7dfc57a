#include "tests/unit/server/sharded_bench.h"

#include <algorithm>

namespace holdfast::testing {

ShardedBench::ShardedBench(std::uint16_t count, RecordTape& tape, const Inventory::Settings& settings)
    : tape_(tape), router_(count) {
  Inventory::Settings own = settings;
  for (std::uint16_t shard = 0; shard < count; ++shard) {
    own.place = {ShardIndex(shard), count};
    inventories_.push_back(std::make_unique<Inventory>(own, tape_));
  }
  ShardedReplay replay(inventories());
  if (const auto replayed = tape.play(0, replay.visitor()); !replayed) {
    throw std::runtime_error("a replay refuses a record: " + std::string(replayed.error().text()));
  }
  replay.finish();
}

std::vector<Inventory*> ShardedBench::inventories() const {
  std::vector<Inventory*> all;
  for (const auto& inventory : inventories_) all.push_back(inventory.get());
  return all;
}

void ShardedBench::step_at(ShardIndex shard, const CommandEntry& entry, Words words, std::string& out) {
  ReplyWriter reply(out, version_);
  step(*inventories_.at(shard.value()), entry, words, now_, reply, true);
}

ReplyValue ShardedBench::run(const std::vector<std::string>& words) {
  const std::vector<std::string_view> views(words.begin(), words.end());
  const auto found = find_command(views);
  if (!found) throw std::runtime_error(std::string(found.error().text()));
  const CommandEntry& entry = **found;
  std::string out;
  const Route route = router_.route(entry, views);
  if (route.kind == Route::Kind::one) {
    step_at(route.shard, entry, views, out);
    return ReplyValue::decode(out);
  }
  // The last shard answers first.
  const auto parts = gather_.plan(entry, views, router_);
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
    std::string bytes;
    step_at(part->shard, entry, part->words, bytes);
    gather_.add(part->shard, bytes);
  }
  gather_.take(out);
  return ReplyValue::decode(out);
}

std::vector<std::string> ShardedBench::list(const std::string& command, const std::string& options,
                                            const std::string& cursor) {
  std::vector<std::string> found;
  std::string at = cursor;
  for (int pages = 0; pages < 100'000; ++pages) {
    std::string line = command;
    line.append(" ").append(at).append(" ").append(options);
    const ReplyValue page = run(line);
    for (const ReplyValue& name : page.items.at(1).items) found.push_back(name.text);
    at = page.items.at(0).text;
    if (at != "0") continue;
    std::sort(found.begin(), found.end());
    return found;
  }
  throw std::runtime_error("the pages of " + command + " do not end");
}

std::string ShardedBench::show() {
  std::string text = "items " + ask("DBSIZE") + " broken " + ask("ITEM VERIFY *") + "\n";
  for (const std::string& key : list("SCAN", "COUNT 3")) text += key + "\n";
  for (const std::string& name : list("ITEM LIST CURSOR", "COUNT 2")) {
    text += run({"ITEM", "GET", name}).to_text() + "\n";
    text += run({"RESERVATION", "LIST", name, "COUNT", "10000"}).to_text() + "\n";
    text += run({"SMEMBERS", view_key_text(name, KeyKind::buyers)}).to_text() + "\n";
  }
  return text;
}

void ShardedBench::pass(Millis time) {
  now_.hold += time;
  now_.wall += time;
}

void ShardedBench::sweep() {
  for (const auto& inventory : inventories_) {
    for (int sweeps = 0; inventory->sweep(now_); ++sweeps) {
      if (sweeps > 100'000) throw std::runtime_error("the sweep does not end");
    }
  }
}

StateHash ShardedBench::hash() {
  StateHash hash;
  for (const auto& inventory : inventories_) hash += inventory->seal();
  return hash;
}

}  // namespace holdfast::testing
