// The postgres sink: items, orders and the journal as tables (deploy/postgres), written in batches, exactly once.
//
// A batch is one transaction:
//
//   lock the cursor's row and check it: log, LSN, epoch           another epoch: superseded; another LSN: damaged
//   journal, one row an event                                     a row that says something else: damaged
//   a part: fold; rows that end, rows that begin, items' sums     every count must match, and no row be refused
//     else it is taken back: without the items that did not fit, and these in pieces, found by halves:
//     what does not fit in a piece of its own is parked, and its later events follow it there
//   items as known, cursor, commit
//
// Blocking; one thread.
#pragma once

#include "replication/event_sink.h"

#include <memory>

namespace holdfast {

struct PostgresSinkSettings {
  std::string name;  // of the cursor's row, and to the server
  std::string url;
  bool existing_items = false;  // a row of flash_sale_item that a person made is taken over
};

/// Connects in open(), and anew in each open().
std::unique_ptr<EventSink> make_postgres_sink(PostgresSinkSettings settings);

}  // namespace holdfast
