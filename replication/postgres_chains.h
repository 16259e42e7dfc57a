// What is parked and what a batch has to do with it: chains are read before it, grow in memory, and are written after it.
// Blocking; one thread; of one transaction.
#pragma once

#include "replication/event_sink.h"
#include "replication/postgres_fold.h"
#include "replication/postgres_parked.h"

#include <map>

namespace holdfast {

class PostgresChains {
 public:
  /// `known` is what holdfast_item says. `parking`: something is parked already.
  PostgresChains(PostgresConnection& connection, PostgresFold& fold, const KnownItems& known, bool parking)
      : connection_(connection), fold_(fold), known_(known), parking_(parking) {}

  /// Reads those of the steps' reservations.
  Result<void> load(std::span<const EventStep> steps);
  /// What is parked of the event's reservation; null: nothing.
  ParkedChain* open(const Event& event);

  /// Begins a chain, or adds to the one that is open.
  Result<void> park(const EventStep& step, Refusal refusal);
  /// The step is the next of an open chain.
  Result<void> follow(ParkedChain& chain, const EventStep& step);
  /// One that was parked before there were events.
  void begin(ParkedChain chain);
  /// Chains that ended since the last call ask for no room any more: they resolve themselves, with a row where that is
  /// possible. To be called before anything else comes of their reservations.
  Result<void> settle();
  /// Writes all, and forgets those that are resolved.
  Result<void> save();
  /// Forgets all. REQUIRES: saved.
  void clear() { chains_.clear(); }

  std::uint64_t parked() const noexcept { return parked_; }
  std::uint64_t resolved() const noexcept { return resolved_; }
  /// Items of which something was parked, each with the first of it in words.
  const std::map<ItemNumber, std::string>& alarms() const noexcept { return alarms_; }

 private:
  void note_parked(const ParkedChain& chain);
  Result<bool> settle_together(const std::vector<ParkedChain*>& chains);
  Result<void> settle_one(ParkedChain& chain);

  PostgresConnection& connection_;
  PostgresFold& fold_;
  const KnownItems& known_;
  bool parking_;
  std::uint64_t parked_ = 0;
  std::uint64_t resolved_ = 0;
  std::map<ItemNumber, std::string> alarms_;
  std::map<ChainName, ParkedChain> chains_;  // that were parked before this batch or in it, and are not saved yet
  std::vector<ParkedChain*> ended_;          // and not settled yet
};

}  // namespace holdfast
