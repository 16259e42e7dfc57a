// What one source says of one reservation or change at one moment: what reconcile compares. Values; any thread.
#pragma once

#include "replication/order_change.h"
#include "replication/order_terms.h"

namespace holdfast {

enum class ObservationSource : std::uint8_t { snapshot, log, journal, order };

struct Observation {
  ItemNumber number;
  std::optional<ReservationId> id;  // nothing: a change of the item as a whole
  ObservationSource source{};
  Sequence sequence;  // of the change; of a row's last change
  Lsn lsn;
  OrderStatus status{};             // after it
  std::optional<OrderStatus> from;  // log: before it; nothing: RESERVE
  std::int64_t quantity = 0;
  std::uint64_t digest = 0;  // log, journal: of all that a journal's row says
  OrderTerms terms;          // order: all of them; log, journal: of RESERVE, RESUME, EXTEND; snapshot: exclusive
  std::string user;          // outside text

  bool of_item() const noexcept { return !id; }
};

}  // namespace holdfast
