#include "tests/bench/scaling/model.h"

#include "tests/doctest.h"

using namespace holdfast::scaling;

namespace {

constexpr Nanos us(double micros) { return Nanos(1000 * micros); }

Costs costs() {
  Costs costs;
  costs.socket = us(4);
  costs.refuse = us(1);
  costs.own = us(2);
  costs.forward = us(1);
  costs.run = us(1);
  costs.commit = us(10);
  costs.flush = us(90);
  costs.load_socket = us(1);
  return costs;
}

Scenario scenario(bool selling, std::size_t shards) {
  Scenario scenario;
  scenario.selling = selling;
  scenario.shards = shards;
  scenario.connections = 200 * shards;
  scenario.load_threads = 2 * shards;
  scenario.processor_each = true;
  return scenario;
}

}  // namespace

TEST_CASE("model: refusals from views go with the number of threads, each as busy as it can be") {
  for (const std::size_t shards : {1U, 2U, 8U}) {
    const Outcome outcome = simulate(costs(), scenario(false, shards));
    CHECK(outcome.requests == doctest::Approx(200'000.0 * static_cast<double>(shards)).epsilon(0.02));
    CHECK(outcome.owner_busy == doctest::Approx(1).epsilon(0.02));
    CHECK(outcome.batches == 0);
  }
}

TEST_CASE("model: what sells is bound by its owner, however many threads there are") {
  const Outcome outcome = simulate(costs(), scenario(true, 16));
  CHECK(outcome.owner_busy > 0.95);
  CHECK(outcome.others_busy < 0.6);
  CHECK(outcome.requests < 1e6);
  CHECK(outcome.requests > 0.5e6);
  CHECK(outcome.batches > 100);
}

TEST_CASE("model: one request at a time takes what its parts take") {
  Scenario alone = scenario(false, 1);
  alone.connections = 1;
  alone.load_threads = 1;
  Costs with_latency = costs();
  with_latency.wake_latency = us(7);
  // The load's 1, waking the shard 7, its 5, waking the load 7.
  CHECK(simulate(with_latency, alone).requests == doctest::Approx(1e6 / 20).epsilon(0.01));
  alone.selling = true;
  // Reading 4, deciding and the socket 2 + 2 + 2, the log's 7 + 10 + 90 + 7, and back.
  const double selling = simulate(with_latency, alone).requests;
  CHECK(selling < 1e6 / 130);
  CHECK(selling > 1e6 / 160);
}

TEST_CASE("model: the same scenario gives the same numbers") {
  CHECK(simulate(costs(), scenario(true, 4)).requests == simulate(costs(), scenario(true, 4)).requests);
}

TEST_CASE("model: on two processors a second shard shares the load's") {
  Scenario shared = scenario(false, 1);
  shared.load_threads = 1;
  shared.processor_each = false;
  Costs even = costs();
  even.load_socket = us(5);
  CHECK(simulate(even, shared).requests == doctest::Approx(1e6 / 5).epsilon(0.03));
  shared.shards = 2;
  // A request of the second shard takes the load's processor twice.
  const Outcome outcome = simulate(even, shared);
  CHECK(outcome.requests < 1e6 / 5.1);
  CHECK(outcome.requests > 1e6 / 7.6);
  CHECK(outcome.load_busy + outcome.others_busy == doctest::Approx(1).epsilon(0.02));
}
