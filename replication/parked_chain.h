// What the tables did not take: a reservation with all that has happened to it since, or a change of an item's stock. Later
// events of the same thing follow it here. Pure; any thread.
#pragma once

#include "replication/order_fold.h"

namespace holdfast {

enum class ParkReason : std::uint8_t { no_room, duplicate_live, bad_id, foreign_row, refused };
/// "no_room" ... as the table has it.
std::string_view reason_name(ParkReason reason) noexcept;
std::optional<ParkReason> parse_reason(std::string_view text) noexcept;

/// Why something was not written.
struct Refusal {
  ParkReason reason{};
  std::string detail;  // in words; may be empty
};

/// What names a chain within its item: the reservation's id, "adjust:<id>", or "sequence:<n>" for a
/// write of the Redis view.
std::string chain_key(const Event& event);

struct ParkedChain {
  ItemNumber number;
  std::string key;
  ParkReason reason{};
  std::string detail;                 // what refused it
  std::optional<OrderChange> change;  // of a reservation
  std::int64_t stock_delta = 0;       // by which the item's quantity would move
  Sequence first;
  Sequence last;
  Lsn last_lsn;
  WallTime parked_at{};
  WallTime changed_at{};
  bool parked = true;  // false: it has resolved itself

  /// The reservation holds no units any more, if it is one.
  bool ended() const noexcept { return change && !is_live(change->to); }
  /// There is a row of it that holds units.
  bool holds_row() const noexcept { return change && change->from && is_live(*change->from); }
};

ParkedChain begin_chain(const EventStep& step, ParkReason reason, std::string detail);
/// Of a reservation that was there already when the sink began.
ParkedChain begin_chain(const OrderChange& order, ParkReason reason, std::string detail, WallTime at);
/// Adds a later event of it. Errors as follow_change.
Result<void> follow_chain(ParkedChain& chain, const EventStep& step);

/// The rows that the chain would change, as a fold of its own. `item`: as it is now.
OrderFold fold_chain(const ParkedChain& chain, const ItemFactsPointer& item);

}  // namespace holdfast
