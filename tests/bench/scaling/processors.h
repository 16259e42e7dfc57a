// A machine in virtual time: processors, threads that take turns on them, and moments at which something happens. Each thread
// has its processor. Who is woken while that is busy waits behind those that came before; who has run for a slice goes to the
// end. One thread; the same calls give the same times.
//
//   sleeping --wake()--> ready --its processor is free--> running: next(), its time passes, next(), ... nothing: sleeping
//                          ^---------the slice is over, others wait------+
#pragma once

#include "tests/bench/scaling/costs.h"

#include <deque>
#include <functional>
#include <optional>
#include <queue>
#include <vector>

namespace holdfast::scaling {

class Machine {
 public:
  class Thread {
   public:
    explicit Thread(std::size_t processor) : processor_(processor) {}
    Thread(const Thread&) = delete;
    Thread& operator=(const Thread&) = delete;
    virtual ~Thread() = default;
    /// Finishes what the thread did last and begins what it does next: how long that takes on its processor. Nothing: it
    /// sleeps until it is woken.
    virtual std::optional<Nanos> next() = 0;

   private:
    friend class Machine;
    std::size_t processor_;
    bool sleeping_ = true;
    Nanos slice_left_{};
    Nanos used_{};
  };

  /// `wake_latency`: until a thread that was woken runs on a processor that was idle.
  Machine(std::size_t processors, Nanos wake_latency, Nanos slice)
      : wake_latency_(wake_latency), slice_(slice), processors_(processors) {}

  Nanos now() const noexcept { return now_; }
  /// Processor time of a thread so far.
  static Nanos used(const Thread& thread) noexcept { return thread.used_; }
  /// Whether it slept. If it does not nothing happens: a thread looks for work before it sleeps.
  bool wake(Thread& thread);
  void at(Nanos when, std::function<void()> what);
  /// Until the time is there, or nothing will happen any more.
  void run(Nanos until);

 private:
  struct Event {
    Nanos when;
    std::uint64_t number;  // earlier ones first
    std::function<void()> what;
    bool operator<(const Event& other) const noexcept {
      return when != other.when ? when > other.when : number > other.number;
    }
  };
  struct Processor {
    bool idle = true;
    std::deque<Thread*> ready;
  };

  Processor& processor(const Thread& thread) { return processors_.at(thread.processor_); }
  void start(Thread& thread, Nanos when);
  void go_on(Thread& thread);
  void leave(Processor& processor);

  Nanos wake_latency_;
  Nanos slice_;
  Nanos now_{};
  std::uint64_t events_made_ = 0;
  std::vector<Processor> processors_;
  std::priority_queue<Event> events_;
};

}  // namespace holdfast::scaling
