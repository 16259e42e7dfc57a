// Serves the relay's figures to Prometheus. A shell around prometheus-cpp, with threads of its own.
#pragma once

#include "tools/relay_runner.h"

namespace holdfast {

class RelayMetrics {
 public:
  /// Serves /metrics on this address, "127.0.0.1:9380". `runner` outlives it. An error when the address is taken.
  static Result<std::unique_ptr<RelayMetrics>> serve(const std::string& address, const RelayRunner& runner);
  ~RelayMetrics();
  RelayMetrics(const RelayMetrics&) = delete;
  RelayMetrics& operator=(const RelayMetrics&) = delete;

 private:
  class Impl;
  explicit RelayMetrics(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace holdfast
