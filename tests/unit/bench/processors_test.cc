#include "tests/bench/scaling/processors.h"

#include "tests/doctest.h"

using namespace holdfast::scaling;

namespace {

constexpr Nanos kSlice(1000), kLatency(50);

/// Works through a list of times and notes when each ended.
class Listed final : public Machine::Thread {
 public:
  Listed(Machine& machine, std::vector<double> times, std::size_t processor = 0)
      : Thread(processor), machine_(machine), times_(std::move(times)) {}
  std::optional<Nanos> next() override {
    calls_at.push_back(machine_.now().count());
    if (done_ == times_.size()) return std::nullopt;
    return Nanos(times_[done_++]);
  }
  std::vector<double> calls_at;

 private:
  Machine& machine_;
  std::vector<double> times_;
  std::size_t done_ = 0;
};

using Times = std::vector<double>;

}  // namespace

TEST_CASE("processors: what happens at the same moment happens in the order in which it was said") {
  Machine machine(1, kLatency, kSlice);
  std::vector<int> order;
  machine.at(Nanos(20), [&] { order.push_back(3); });
  machine.at(Nanos(10), [&] {
    order.push_back(1);
    machine.at(Nanos(20), [&] { order.push_back(4); });
  });
  machine.at(Nanos(10), [&] { order.push_back(2); });
  machine.at(Nanos(31), [&] { order.push_back(5); });
  machine.run(Nanos(30));
  CHECK(order == std::vector<int>{1, 2, 3, 4});
  CHECK(machine.now() == Nanos(30));
}

TEST_CASE("processors: a thread runs after the latency, sleeps when it has nothing, and is woken once") {
  Machine machine(1, kLatency, kSlice);
  Listed thread(machine, {100, 200});
  CHECK(machine.wake(thread));
  CHECK_FALSE(machine.wake(thread));
  machine.run(Nanos(1000));
  CHECK(thread.calls_at == Times{50, 150, 350});
  CHECK(Machine::used(thread) == Nanos(300));
  CHECK(machine.wake(thread));
  machine.run(Nanos(2000));
  CHECK(thread.calls_at == Times{50, 150, 350, 1050});
}

TEST_CASE("processors: two threads share one in slices, and have one each where there are two") {
  for (const std::size_t processors : {1U, 2U}) {
    Machine machine(processors, Nanos(0), kSlice);
    Listed first(machine, {600, 600, 600}), second(machine, {500}, processors - 1);
    machine.wake(first);
    machine.wake(second);
    machine.run(Nanos(10'000));
    CHECK(first.calls_at == (processors == 2 ? Times{0, 600, 1200, 1800} : Times{0, 600, 1700, 2300}));
    CHECK(second.calls_at == (processors == 2 ? Times{0, 500} : Times{1200, 1700}));
  }
}
