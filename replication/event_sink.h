// What a sink is to the relay: a place that takes events in the log's order and keeps, in one piece with them, how far it
// is. The one interface of all sinks. Blocking calls; one thread.
#pragma once

#include "replication/cursor.h"
#include "replication/sink_items.h"
#include "replication/start_state.h"

#include <chrono>

namespace holdfast {

/// Where a sink stands when a relay has taken it over.
struct SinkState {
  Cursor cursor;
  SinkItems items;
};

/// A reservation that the sink holds apart from its rows, or no longer does: what the server is to be told.
struct ParkNotice {
  ItemNumber number;
  Sequence first;    // of what is parked; with number and id it names it in the sink
  std::string item;  // as in the log
  ItemVersion version;
  std::string id;      // of the reservation or the ADJUST; else what names the change
  std::string reason;  // one word; empty when it is no longer parked
  bool parked() const noexcept { return !reason.empty(); }
};

/// What a sink has done since it was made.
struct SinkFigures {
  std::uint64_t parked = 0;        // what it did not take
  std::uint64_t resolved = 0;      // parked reservations that ended, so that nothing is left to do
  std::uint64_t singly = 0;        // events that were tried alone and did not fit
  std::uint64_t parked_items = 0;  // items of which something is parked, as last looked at

  // Of Kafka's transactions.
  std::uint64_t transactions = 0;              // that took place
  std::uint64_t records = 0;                   // in these
  std::chrono::duration<double> committing{};  // how long these were being committed
  std::uint64_t given_up = 0;                  // that failed, so that it had to be found out what they came to
};

/// What a sink began with.
struct StartReport {
  Cursor cursor;
  std::uint64_t items = 0;
  std::uint64_t orders = 0;
  std::uint64_t parked = 0;  // of the orders
  std::uint64_t no_row =
      0;                  // of those that have ended: the sink did not take them, and nothing is left to do about them
  std::string set_aside;  // where that is which the sink had before; empty: it had nothing
};

/// Errors of all calls: `superseded` when another relay has taken the sink over (never write again); `damaged`, `foreign`,
/// `unsupported`, `bad_option` when a person has to look (nothing was written); anything else may pass, and whether the
/// call took effect is not known: open() tells.
class EventSink {
 public:
  virtual ~EventSink() = default;
  /// Takes the sink over under the next epoch, so that no earlier relay writes to it any more. Again after every error:
  /// where it really stands.
  virtual Result<SinkState> open() = 0;
  /// Writes the events and moves the cursor to batch.through: all or nothing, durable when this returns. `log`: theirs;
  /// a sink that has seen none yet belongs to it from then on. REQUIRES: open, and no call has failed since.
  virtual Result<void> apply(const LogId& log, const EventBatch& batch) = 0;
  /// At most `notices_max` things that the server has not been told yet; and that it has been told of them.
  virtual Result<std::vector<ParkNotice>> untold(std::size_t notices_max) = 0;
  virtual Result<void> told(const std::vector<ParkNotice>& notices) = 0;
  /// After open(), and every kTendEvery from then on: what is to be done that is not of one batch. `now`: of any clock that
  /// only goes on.
  virtual Result<void> tend(Millis) { return {}; }
  virtual SinkFigures figures() const = 0;
  /// What a person must hear since the last call: a line for each item of which something was parked and nothing was before.
  virtual std::vector<std::string> take_alarms() = 0;

  /// Any thread: what a call waits for ends soon with an error, and so does every later call. Sinks whose calls end soon
  /// in any case have nothing to do.
  virtual void interrupt() {}

  // Instead of open(), apply() ..., by a person's command; afterwards open() takes the sink over anew.
  /// Makes it begin with this state: all or nothing. What it has already is kept elsewhere when `set_aside`, else refused,
  /// `bad_option`. A relay that has the sink is superseded, or keeps this from it.
  virtual Result<StartReport> bootstrap(StartState& state, bool set_aside) = 0;
  /// Takes the sink over and moves its cursor to the log that goes on from its own. Errors: as check_adoption.
  virtual Result<Cursor> adopt(const LogRange& range) = 0;
};

}  // namespace holdfast
