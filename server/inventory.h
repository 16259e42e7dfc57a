// The items of one shard: what may be sold, who has it, until when. All of Holdfast's decisions are made here.
//
// Deterministic and without I/O: commands, records and `Now` come in; outcomes and records go out. The same code runs
// in the server, in recovery, in the fold of snapshots and in the simulator. One thread at a time.
//
// A change is decided by a command, then made and emitted as one record; `apply` makes the same change from the record.
#pragma once

#include "storage/record.h"

#include <array>
#include <memory>

namespace holdfast {

/// Sum modulo 2^128 of a hash per item: number, version, state, sequence and counters.
struct StateHash {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  bool operator==(const StateHash&) const noexcept = default;
};

class Inventory final : public RecordVisitor {
 public:
  struct Settings {
    /// The log's secret: seeds the tables' hashes and makes server-made ids that nobody can guess.
    std::array<std::uint8_t, 16> secret{};
    Millis ended_retention{std::chrono::hours(24)};
    /// Ended ids kept per item; 0: 4 x total, at least 100,000.
    std::uint64_t ended_max = 0;
    /// This shard gives item numbers max + 1 + index, then every count-th.
    ShardIndex shard_index{};
    std::uint16_t shard_count = 1;
    /// Whether deltas by the Redis view are allowed while there are reservations.
    bool redis_view_adjusts = false;
  };

  /// `sink` takes every record that a step makes, and outlives this.
  Inventory(const Settings& settings, RecordSink& sink);
  ~Inventory() override;
  Inventory(const Inventory&) = delete;
  Inventory& operator=(const Inventory&) = delete;

  // Groups and durability (design: the gate).

  /// Records made from here on belong to this group. REQUIRES: greater than the last.
  void open_group(GroupOrdinal group);
  /// The state hash after all records made so far; its cost is one hash per item touched since the last call.
  StateHash seal();
  /// The group is durable and its first record has this LSN.
  void on_group_durable(GroupOrdinal group, Lsn first);
  /// Everything up to this group is durable.
  GroupOrdinal durable_group() const noexcept;

  // Time.

  /// Expires due reservations, opens and closes items by their windows and forgets ended ids: at most 2,000 changes.
  /// Returns whether more is due now.
  bool sweep(const Now& now);
  /// When the next of these is due on the hold clock, at the latest; HoldTime::max() when nothing is. `now` tells how
  /// the two clocks stand to each other.
  HoldTime next_due(const Now& now) const;

  // Recovery: the visitor of the log's reader. An error names what does not fit.

  Result<void> on_item(const RecordStamp& stamp, const ItemRecord& record) override;
  Result<void> on_reservation(const RecordStamp& stamp, const ReservationRecord& record) override;
  Result<void> on_forget(const RecordStamp& stamp, const ForgetRecord& record) override;
  Result<void> on_default_returns(const RecordStamp& stamp, const DefaultReturnsRecord& record) override;
};

}  // namespace holdfast
