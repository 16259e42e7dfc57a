// A server's log as the changes that Kafka's topics are to hold, for a reconcile. One thread.
#pragma once

#include "replication/sink_items.h"
#include "tools/log_client.h"

#include <boost/unordered/unordered_flat_map.hpp>

namespace holdfast {

class TopicLog {
 public:
  explicit TopicLog(RespClient& client) : log_(client) {}

  /// Which log it is, and what is kept of it. Before everything else.
  Result<void> look() { return log_.look(); }
  const LogId& log() const noexcept { return log_.log(); }
  Lsn durable() const noexcept { return log_.durable(); }
  Lsn oldest() const noexcept { return log_.oldest(); }

  /// `offered`: the item is as it was then. Before the log's first change of an item as a whole, it is as that change left it.
  using OnChange = std::function<Result<void>(const Event& event, bool offered)>;
  using Progress = std::function<void(Lsn at)>;
  /// All changes that are kept through that LSN, and perhaps some later ones. `items`: what the sink knows, for items of which the
  /// log has no change as a whole. Errors: LogClient's; damaged for a change of an item that nothing names; the callee's.
  Result<void> read(Lsn through, const SinkItems& items, const OnChange& on_change, const Progress& progress);

 private:
  class Names;
  class Changes;
  using Facts = boost::unordered_flat_map<std::uint64_t, ItemFactsPointer>;  // by number
  Result<void> visit(Lsn through, RecordVisitor& visitor, const Progress& progress);

  LogClient log_;
};

}  // namespace holdfast
