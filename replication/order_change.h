// What a reservation's events do to its row of flash_sale_order: the row's state before and after, whatever happened in
// between. Pure; any thread.
#pragma once

#include "replication/event.h"

namespace holdfast {

enum class OrderStatus : std::uint8_t { pending, paid, expired, cancelled, refunded };
/// "PENDING" ... as the table has it.
std::string_view status_name(OrderStatus status) noexcept;
std::optional<OrderStatus> parse_status(std::string_view text) noexcept;
/// REQUIRES: not `none`, the state of a row that is nobody's.
OrderStatus status_of(ReservationState state);
/// Holds units.
bool is_live(OrderStatus status) noexcept;

/// After it the reservation holds no units.
bool ends(ReservationEvent event) noexcept;
/// By how much one event moves its item's `sold`.
std::int64_t sold_delta(const ReservationChange& change) noexcept;

struct OrderChange {
  ItemNumber item;
  ReservationId id;
  std::string user;  // not escaped
  Quantity quantity;
  /// What the row must be now; nothing: there is none, or only that of an earlier life that has ended.
  std::optional<OrderStatus> from;
  OrderStatus to{};
  bool sets_expiry = false;
  std::optional<WallTime> expires_at;
  Sequence first;  // of the events
  Sequence last;
  Lsn last_lsn;
  WallTime last_at;
  /// What RESERVE or RESUME says; nothing: as the row is.
  std::optional<bool> exclusive;
  // Of a new row only.
  std::int64_t price = 0;
  std::string currency;
  std::string sale;
  WallTime reserved_at{};

  /// By how much it moves the item's `sold`.
  std::int64_t sold_delta() const noexcept;
  /// A row that is there begins to hold units, or held some and was resumed in between. What ends must go before it.
  bool resumes() const noexcept { return from && is_live(to) && exclusive.has_value(); }
};

/// What the first event that is seen of a reservation does. REQUIRES: an event of a reservation.
OrderChange begin_change(const Event& event);

/// Adds what a later event of the same reservation does; RESERVE begins a new life, of which a row of an earlier one knows
/// nothing. An error, `damaged`, for an event that cannot follow in any log.
Result<void> follow_change(OrderChange& change, const Event& event);

}  // namespace holdfast
