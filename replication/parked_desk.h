// What a person does about what is parked: looks at it, has it tried again, or ends it. Every change is one transaction
// that holds the cursor's row, so that the relay waits meanwhile, and is noted in holdfast_audit. Blocking; one thread.
#pragma once

#include "replication/outside_id.h"
#include "replication/parked_chain.h"
#include "replication/postgres_tables.h"

namespace holdfast {

/// A row of holdfast_parked as people see it.
struct ParkedEntry {
  ItemNumber number;
  std::string item;  // as in the log
  ItemVersion version;
  std::string key;     // order id, adjust:<id>, sequence:<n>
  std::string reason;  // no_room ...
  std::string detail;
  std::string state;                // parked, resolved, cancelled
  std::string cancel;               // return, write-off; empty: nobody is ending it
  std::optional<std::string> user;  // outside text; nothing: a change of stock
  std::int64_t quantity = 0;
  std::string from;  // status of the row that it would change; empty: it would be a new one
  std::string to;
  std::int64_t stock_delta = 0;
  Sequence first;
  Sequence last;
  WallTime parked_at{};
  WallTime changed_at{};

  bool is_reservation() const noexcept { return user.has_value(); }
  /// Its reservation holds no units any more, as far as the relay has carried it.
  bool ended() const { return is_reservation() && to != "PENDING" && to != "PAID"; }
};

/// Which of them; empty texts: any.
struct ParkedFilter {
  std::string item;  // as in the log
  std::string key;
  bool all = false;  // also those that are no longer parked
};

enum class CancelUnit : std::uint8_t { give_back, write_off };
/// "return", "write-off": as the table has it.
std::string_view unit_name(CancelUnit unit) noexcept;

class ParkedDesk {
 public:
  /// Errors: those of PostgresConnection::connect and check_schema.
  static Result<std::unique_ptr<ParkedDesk>> open(const std::string& url);

  // Errors of these: those of PostgresConnection; after one the desk is of no use.
  /// Newest last.
  Result<std::vector<ParkedEntry>> find(const ParkedFilter& filter);
  /// Writes it into the tables. Why it still does not fit; empty: it is there now. REQUIRES: parked.
  Result<std::string> retry(const ParkedEntry& entry);
  /// Notes that it is to end: from now on it cannot be tried again. What a write-off of a unit for which there is no room
  /// takes from the server's total, the table's quantity lacks already and does not lose again. Nothing when it is not
  /// parked any more, or is being ended the other way. REQUIRES: a reservation.
  Result<bool> begin_cancel(const ParkedEntry& entry, CancelUnit unit);
  /// Ends it. False when the relay has not carried its end yet; of a version that has ended no such end comes, and none is
  /// waited for. REQUIRES: begin_cancel, unless it is a change of stock, which stays out of the table for good.
  Result<bool> finish_cancel(const ParkedEntry& entry);
  /// Whether the log has ended its version of the item: dropped, or followed by another one.
  Result<bool> version_ended(const ParkedEntry& entry);

 private:
  ParkedDesk(std::unique_ptr<PostgresConnection> connection, OutsideIds ids)
      : connection_(std::move(connection)), tables_(*connection_, ids, "") {}
  /// Begins a transaction that holds the cursor; the row as it is now.
  Result<std::optional<ParkedEntry>> lock(const ParkedEntry& entry);
  Result<std::string> retry_locked(const ParkedEntry& entry);
  Result<bool> is_over(ItemNumber number);
  Result<std::string> write(const ParkedChain& chain, const KnownItem& item);
  Result<void> take_back(const ParkedEntry& now);
  Result<void> note(const ParkedEntry& entry, std::string_view action, std::string_view text);

  std::unique_ptr<PostgresConnection> connection_;
  PostgresTables tables_;
};

}  // namespace holdfast
