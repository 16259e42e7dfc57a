// A postgres sink on a real database (HOLDFAST_POSTGRES), fed from a log in the making. One thread.
#pragma once

#include "replication/outside_id.h"
#include "replication/postgres_sink.h"
#include "tests/unit/replication/event_tape.h"

namespace holdfast::test {

/// Where the tests' database is. Ends the test program when nobody said it.
std::string database_url();

class SinkBench {
 public:
  /// Empties the database and makes the tables.
  explicit SinkBench(OutsideIds ids = OutsideIds::text, bool existing_items = false);

  LogMaker log;

  /// What the sink says to all that was recorded since the last call, in batches of at most `at_once` events. Opens the
  /// sink when it is not. An empty text: it took it.
  std::string flush(std::size_t at_once = 5000);
  /// The next flush takes the sink over anew.
  void reopen() { sink_.reset(); }
  EventSink& sink() { return *sink_; }
  EventTape& tape() { return tape_; }
  std::unique_ptr<EventSink> another_sink() const;

  /// Rows as text: columns separated by spaces, rows by "; "; NULL is "-".
  std::string rows(const std::string& sql);
  void execute(const std::string& sql);
  /// Order rows by id: "<last digits of the id> <status>", whatever item.
  std::string orders() {
    return rows("SELECT ltrim(right(order_id::text, 6), '0'), status FROM flash_sale_order ORDER BY order_id, item_id");
  }
  std::string sold(const std::string& item = "a") {
    return rows("SELECT quantity, sold FROM flash_sale_item WHERE item_id::text = '" + item + "'");
  }
  /// "key's last digits, reason, from, to, stock delta" of what is parked.
  std::string parked() {
    return rows(
        "SELECT ltrim(right(key, 6), '0'), reason, from_status, to_status, stock_delta FROM holdfast_parked"
        " WHERE state = 'parked' ORDER BY first_sequence");
  }
  /// What holdfastctl parked retry says of all that is parked, oldest first; empty: all of it is written.
  std::string retry();
  /// Empty when journal, rows and sums agree with each other.
  std::string audit();

 private:
  bool existing_items_;
  EventTape tape_{log};
  std::unique_ptr<EventSink> sink_;
};

}  // namespace holdfast::test
