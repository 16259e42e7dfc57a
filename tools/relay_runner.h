// The relay's threads: one for each sink, which carries the log to it until it is told to end or has to. A shell: what
// happens is decided in replication/sink_feed.h.
#pragma once

#include "replication/sink_feed.h"

#include <memory>

namespace holdfast {

struct RelaySink {
  std::string name;
  std::unique_ptr<EventSink> sink;
  std::unique_ptr<LogSource> source;
};

/// What a sink's thread last told.
struct NamedStatus {
  std::string name;
  FeedStatus status;
};

class RelayRunner {
 public:
  /// `on_end` is called by a sink's thread when it will do nothing more.
  RelayRunner(std::vector<RelaySink> sinks, void (*on_end)());
  /// Ends them: each finishes what it is doing. One that has not after kEndTime is cut off.
  ~RelayRunner();
  RelayRunner(const RelayRunner&) = delete;
  RelayRunner& operator=(const RelayRunner&) = delete;

  /// Starts the threads, each of which takes its sink over from whoever has it. Called once.
  void start();

  /// Any thread.
  std::vector<NamedStatus> statuses() const;

 private:
  class Worker;
  std::vector<std::unique_ptr<Worker>> workers_;
};

}  // namespace holdfast
