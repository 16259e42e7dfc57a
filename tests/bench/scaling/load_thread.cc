#include "tests/bench/scaling/load_thread.h"

#include "tests/bench/scaling/shard_thread.h"

#include <algorithm>

namespace holdfast::scaling {
namespace {

constexpr std::size_t kLoadEventsMax = 64;  // tools/bench_raw.cc

}  // namespace

bool LoadThread::plan() {
  for (Connection* connection : std::exchange(starting_, {})) send(*connection);
  if (ready_.empty()) return !(slept_ = true);
  if (std::exchange(slept_, false)) then(world_.costs.load_sleep, [] {});
  for (std::size_t left = std::min(ready_.size(), kLoadEventsMax); left > 0; --left) {
    Connection& connection = *ready_.front();
    ready_.pop_front();
    const bool last = connection.replies + connection.arrived == world_.scenario.pipeline;
    const Nanos requests = static_cast<double>(world_.scenario.pipeline) * world_.costs.load_request;
    then(last ? world_.costs.load_socket + requests : world_.costs.load_socket / 2,
         [this, &connection] { take(connection); });
  }
  return true;
}

void LoadThread::take(Connection& connection) {
  connection.load_sees = false;
  connection.replies += connection.arrived;
  world_.answered += std::exchange(connection.arrived, 0);
  if (connection.replies == world_.scenario.pipeline) send(connection);
}

void LoadThread::send(Connection& connection) {
  connection.replies = 0;
  connection.shard->request(connection);
}

}  // namespace holdfast::scaling
