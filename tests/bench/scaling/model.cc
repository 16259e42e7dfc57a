#include "tests/bench/scaling/model.h"

#include "tests/bench/scaling/load_thread.h"
#include "tests/bench/scaling/log_thread.h"
#include "tests/bench/scaling/shard_thread.h"

#include "protocol/check.h"
#include "server/limits.h"

#include <memory>
#include <numeric>

namespace holdfast::scaling {
namespace {

constexpr Nanos kWarmUp = std::chrono::milliseconds(100);
constexpr Nanos kMeasured = std::chrono::milliseconds(400);
/// After so long Linux looks whether another thread's turn has come: a tick at 250 Hz.
constexpr Nanos kSlice = std::chrono::milliseconds(4);

/// As measure.py lays its threads out.
constexpr std::size_t kSharedProcessors = 2;

std::size_t processors(const Scenario& scenario) {
  return scenario.processor_each ? scenario.shards + 1 + scenario.load_threads : kSharedProcessors;
}

/// The threads of a scenario.
class Scene {
 public:
  Scene(const Costs& costs, const Scenario& scenario);
  void run(Nanos until) { world_.machine.run(until); }
  /// What happened so far, in sums: requests answered, processor time.
  Outcome sums() const;

 private:
  World world_;
  std::vector<std::unique_ptr<ShardThread>> shards_;
  std::unique_ptr<LogThread> log_;
  std::vector<std::unique_ptr<LoadThread>> load_;
  std::vector<Connection> connections_;
};

Scene::Scene(const Costs& costs, const Scenario& scenario)
    : world_{costs, scenario, Machine(processors(scenario), costs.wake_latency, kSlice)},
      connections_(scenario.connections) {
  const bool apart = scenario.processor_each;
  for (std::size_t i = 0; i < scenario.shards; ++i) {
    shards_.push_back(std::make_unique<ShardThread>(world_, apart ? i : i % kSharedProcessors, i == 0));
  }
  log_ = std::make_unique<LogThread>(world_, apart ? scenario.shards : 0, *shards_[0]);
  for (auto& shard : shards_) shard->join(*shards_[0], *log_);
  for (std::size_t i = 0; i < scenario.load_threads; ++i) {
    load_.push_back(std::make_unique<LoadThread>(world_, apart ? scenario.shards + 1 + i : kSharedProcessors - 1));
  }
  for (std::size_t i = 0; i < connections_.size(); ++i) {
    connections_[i].shard = shards_[i % shards_.size()].get();
    connections_[i].load = load_[i / shards_.size() % load_.size()].get();
    connections_[i].load->add(connections_[i]);
  }
  for (auto& thread : load_) world_.machine.wake(*thread);
}

Outcome Scene::sums() const {
  const auto used = [](const auto& thread) { return std::chrono::duration<double>(Machine::used(*thread)).count(); };
  const auto all = [&](const auto& threads) {
    return std::accumulate(threads.begin(), threads.end(), 0.0,
                           [&](double sum, const auto& one) { return sum + used(one); });
  };
  Outcome sums;
  sums.requests = static_cast<double>(world_.answered);
  sums.owner_busy = used(shards_[0]);
  sums.others_busy = all(shards_) - sums.owner_busy;
  sums.log_busy = used(log_);
  sums.load_busy = all(load_);
  sums.batches = static_cast<double>(world_.batches);
  return sums;
}

}  // namespace

Outcome simulate(const Costs& costs, const Scenario& scenario) {
  CHECK(scenario.shards > 0 && scenario.load_threads > 0 && scenario.pipeline > 0);
  CHECK(scenario.pipeline <= kTurnCommandsMax && scenario.connections >= scenario.shards * scenario.load_threads);
  Scene scene(costs, scenario);
  scene.run(kWarmUp);
  const Outcome before = scene.sums();
  scene.run(kWarmUp + kMeasured);
  const Outcome after = scene.sums();
  const double seconds = std::chrono::duration<double>(kMeasured).count();
  const auto rate = [&](double Outcome::*what) { return (after.*what - before.*what) / seconds; };
  const auto share = [&](double Outcome::*what, std::size_t threads) {
    return threads == 0 ? 0 : rate(what) / static_cast<double>(threads);
  };
  return {rate(&Outcome::requests),
          share(&Outcome::owner_busy, 1),
          share(&Outcome::others_busy, scenario.shards - 1),
          share(&Outcome::log_busy, 1),
          share(&Outcome::load_busy, scenario.load_threads),
          rate(&Outcome::batches)};
}

}  // namespace holdfast::scaling
