// A change as a row of flash_sale_journal. Values; any thread.
#pragma once

#include "replication/order_terms.h"

namespace holdfast {

struct JournalRow {
  std::string item;  // outside text
  Sequence sequence;
  Lsn lsn;
  std::string event;
  std::int64_t at_ms = 0;
  std::optional<std::string> id;    // of a reservation, or of an ADJUST
  std::optional<std::string> user;  // outside text
  std::int64_t quantity = 0;
  std::int64_t flags = 0;
  std::optional<std::int64_t> expires_at_ms;
  std::optional<std::string> reason;
  Counters after;
};

JournalRow journal_row(const Event& event);

/// A number that two rows of one change share only when they say the same.
std::uint64_t journal_digest(const JournalRow& row);

/// What a row of a reservation's change tells of its order.
OrderTerms journal_terms(const JournalRow& row);

}  // namespace holdfast
