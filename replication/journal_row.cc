#include "replication/journal_row.h"

#include "protocol/outside_text.h"
#include "replication/outside_id.h"

#include <fmt/format.h>

namespace holdfast {

JournalRow journal_row(const Event& event) {
  JournalRow row;
  row.item = outside_text(event.item->name);
  row.sequence = event.sequence;
  row.lsn = event.lsn;
  row.event = event.name();
  row.at_ms = to_ms(event.at);
  row.after = event.after;
  if (const auto* const reservation = event.reservation()) {
    row.id = id_text(reservation->id);
    row.user = outside_text(reservation->user);
    row.quantity = reservation->quantity.value();
    row.flags = (reservation->exclusive ? 1 : 0) + (reservation->write_off ? 2 : 0);
    if (reservation->expires_at) row.expires_at_ms = to_ms(*reservation->expires_at);
    return row;
  }
  const ItemChange& change = *event.item_change();
  if (change.event == ItemEvent::adjust) {
    row.id = id_text(change.adjust_id);
    row.reason = outside_text(change.reason);
  }
  row.quantity = change.delta;
  row.flags = change.by_window ? 4 : 0;
  return row;
}

std::uint64_t journal_digest(const JournalRow& row) {
  const std::string expires_at = row.expires_at_ms ? fmt::format("{}", *row.expires_at_ms) : "-";
  return std::hash<std::string>()(fmt::format("{} {} {} {} {} {} {} {} {} {} {} {} {}", row.lsn.value(), row.event,
                                              row.at_ms, row.id.value_or("-"), row.user.value_or(" "), row.quantity,
                                              row.flags, expires_at, row.after.available, row.after.reserved,
                                              row.after.confirmed, row.after.held, row.reason.value_or(" ")));
}

OrderTerms journal_terms(const JournalRow& row) {
  OrderTerms terms;
  terms.told = told_by(row.event);
  terms.exclusive = (row.flags & 1) != 0;
  terms.expires_at_ms = row.expires_at_ms;
  terms.reserved_at_ms = row.at_ms;
  return terms;
}

}  // namespace holdfast
