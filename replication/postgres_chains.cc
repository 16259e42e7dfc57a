#include "replication/postgres_chains.h"

#include "protocol/check.h"
#include "protocol/outside_text.h"

#include <fmt/format.h>

namespace holdfast {
namespace {

ChainName name_of(const Event& event) { return {event.item->number, chain_key(event)}; }
ChainName name_of(const ParkedChain& chain) { return {chain.number, chain.key}; }

}  // namespace

Result<void> PostgresChains::load(std::span<const EventStep> steps) {
  if (!parking_) return {};
  std::set<ChainName> names;
  for (const EventStep& step : steps) {
    if (step.event->reservation() != nullptr) names.insert(name_of(*step.event));
  }
  auto chains = load_chains(connection_, std::vector<ChainName>(names.begin(), names.end()));
  if (!chains) return chains.error();
  for (ParkedChain& chain : *chains) chains_.emplace(name_of(chain), std::move(chain));
  return {};
}

ParkedChain* PostgresChains::open(const Event& event) {
  if (chains_.empty() || event.reservation() == nullptr) return nullptr;
  const auto place = chains_.find(name_of(event));
  return place == chains_.end() || !place->second.parked ? nullptr : &place->second;
}

Result<void> PostgresChains::park(const EventStep& step, Refusal refusal) {
  if (ParkedChain* const chain = open(*step.event)) return follow(*chain, step);
  // One that has resolved itself in this batch stays on record.
  if (chains_.contains(name_of(*step.event))) HOLDFAST_TRY(save());
  begin(begin_chain(step, refusal.reason, std::move(refusal.detail)));
  return {};
}

Result<void> PostgresChains::follow(ParkedChain& chain, const EventStep& step) {
  HOLDFAST_TRY(follow_chain(chain, step));
  if (chain.ended()) ended_.push_back(&chain);
  return {};
}

void PostgresChains::begin(ParkedChain chain) {
  parking_ = true;
  note_parked(chain);
  const auto [place, is_new] = chains_.emplace(name_of(chain), std::move(chain));
  CHECK(is_new);
  if (place->second.ended()) ended_.push_back(&place->second);
}

void PostgresChains::note_parked(const ParkedChain& chain) {
  ++parked_;
  alarms_.try_emplace(chain.number,
                      fmt::format("item {}: {} is parked, {}: {}", outside_text(known_.at(chain.number).facts->name),
                                  chain.key, reason_name(chain.reason), chain.detail));
}

Result<void> PostgresChains::settle() {
  std::vector<ParkedChain*> together;
  std::vector<ParkedChain*> alone;
  for (ParkedChain* const chain : std::exchange(ended_, {})) {
    const bool moves = chain->stock_delta != 0 || chain->holds_row();
    (moves || chain->reason == ParkReason::bad_id ? alone : together).push_back(chain);
  }
  const auto settled = settle_together(together);
  if (!settled) return settled.error();
  if (!*settled) alone.insert(alone.end(), together.begin(), together.end());
  for (ParkedChain* const chain : alone) HOLDFAST_TRY(settle_one(*chain));
  return {};
}

/// Those that move no sums, as one fold. False when not all of them can be written.
Result<bool> PostgresChains::settle_together(const std::vector<ParkedChain*>& chains) {
  if (chains.size() < 2) return chains.empty();
  OrderFold fold;
  std::map<ItemNumber, ItemSum> sums;
  for (const ParkedChain* const chain : chains) {
    const KnownItem& item = known_.at(chain->number);
    if (item.refused) return false;
    OrderFold one = fold_chain(*chain, item.facts);
    CHECK(one.resumes.empty());
    std::move(one.updates.begin(), one.updates.end(), std::back_inserter(fold.updates));
    std::move(one.inserts.begin(), one.inserts.end(), std::back_inserter(fold.inserts));
    sums[chain->number] = std::move(one.items.front());
  }
  for (auto& [number, sum] : sums) fold.items.push_back(std::move(sum));
  const auto trial = fold_.write(fold, known_);
  if (!trial) return trial.error();
  if (!trial->fits()) return false;
  for (ParkedChain* const chain : chains) chain->parked = false;
  return true;
}

Result<void> PostgresChains::settle_one(ParkedChain& chain) {
  const KnownItem& item = known_.at(chain.number);
  if (item.refused) {
    chain.parked = false;
    return {};
  }
  OrderFold fold = fold_chain(chain, item.facts);
  if (chain.reason != ParkReason::bad_id) {
    const auto trial = fold_.write(fold, known_);
    if (!trial) return trial.error();
    chain.parked = !trial->fits();
    if (!chain.parked) return {};
  }
  // Nothing of it is in the tables: without a row of its own only what was written off is left to do.
  if (chain.change->from) return {};
  if (chain.stock_delta == 0) {
    chain.parked = false;
    return {};
  }
  fold.inserts.clear();
  const auto trial = fold_.write(fold, known_);
  if (!trial) return trial.error();
  chain.parked = !trial->fits();
  return {};
}

Result<void> PostgresChains::save() {
  std::vector<const ParkedChain*> chains;
  for (const auto& [name, chain] : chains_) {
    chains.push_back(&chain);
    if (!chain.parked) ++resolved_;
  }
  HOLDFAST_TRY(save_chains(connection_, chains, known_));
  std::erase_if(chains_, [](const auto& entry) { return !entry.second.parked; });
  return {};
}

}  // namespace holdfast
