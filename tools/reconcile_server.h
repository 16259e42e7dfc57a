// What a server says, for a reconcile: its newest snapshot, where its log does not begin at the beginning, and all of its log.
// One thread.
#pragma once

#include "replication/observation_spill.h"
#include "replication/reconcile.h"
#include "tools/log_client.h"

#include <functional>
#include <set>

namespace holdfast {

class ReconcileServer {
 public:
  ReconcileServer(RespClient& client, ReconcileItems& items) : log_(client), items_(items) {}

  /// Which log it is, and what is kept of it. Before everything else.
  Result<void> look() { return log_.look(); }
  const LogId& log() const noexcept { return log_.log(); }
  Lsn durable() const noexcept { return log_.durable(); }
  Lsn oldest() const noexcept { return log_.oldest(); }

  using Progress = std::function<void(std::string_view what, std::uint64_t done, std::uint64_t all)>;
  /// Everything about the items that the tables know, into the spill and to the items.
  Result<void> read(ObservationSpill& spill, const Progress& progress);
  /// REQUIRES: read.
  TablesPosition position(Lsn cursor, bool marked) const noexcept { return {cursor, has_, lacks_, marked}; }
  std::uint64_t changes() const noexcept { return changes_; }

  /// All changes of those items in the log's order, again.
  using OnEvent = std::function<Result<void>(const Event& event)>;
  Result<void> read_again(const OnEvent& on_event, const Progress& progress);

 private:
  class Rows;
  class Changes;
  Result<void> read_snapshot(ObservationSpill& spill, const Progress& progress);
  Result<void> read_log(RecordVisitor& visitor, const Progress& progress);
  Result<void> take(const Event& event, ObservationSpill& spill);
  /// The tables have it, or lack it.
  void place(bool has, Lsn lsn) noexcept;

  LogClient log_;
  ReconcileItems& items_;
  Lsn has_;
  Lsn lacks_;
  std::uint64_t changes_ = 0;
};

}  // namespace holdfast
