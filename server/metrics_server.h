// Serves /metrics, /healthz and /readyz over HTTP on a thread of its own: a shell around Asio and Beast that decides
// nothing. A client that is slow, silent or wrong costs one of a bounded number of connections, for a bounded time.
#pragma once

#include "server/metrics_collector.h"
#include "server/poller.h"

#include <memory>

namespace holdfast {

class MetricsServer {
 public:
  /// Takes over a listening socket and serves at once. `collector` is used by its thread only and outlives it.
  MetricsServer(FileDescriptor listener, MetricsCollector& collector);
  /// Closes all connections and ends the thread.
  ~MetricsServer();
  MetricsServer(const MetricsServer&) = delete;
  MetricsServer& operator=(const MetricsServer&) = delete;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace holdfast
