// Runs tasks one at a time and decides at every access to an atomic which one goes on: so that every interleaving of a
// few threads can be tried, and each can be run again. Tasks are coroutines with stacks of their own on one thread.
//
// What it tries is sequentially consistent: that the memory orders are strong enough is for view_threads_test with
// ThreadSanitizer, and for the proof in server/views.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace holdfast::testing {

class ViewScheduler {
 public:
  /// Which of `ways` goes on: 0 is the task that ran last, if it is not done.
  using Choose = std::function<std::size_t(std::size_t ways, bool running_goes_on)>;

  ViewScheduler();
  ~ViewScheduler();
  ViewScheduler(const ViewScheduler&) = delete;
  ViewScheduler& operator=(const ViewScheduler&) = delete;

  /// The first one is the owner.
  void add(std::function<void()> body);
  /// Runs all tasks to their ends.
  void run(const Choose& choose);
  /// Steps since the beginning: a clock that goes on whenever another task may have run.
  static std::uint64_t tick() noexcept;

  /// Called by atomics before each access. `own`: no other task writes what is accessed.
  static void access(bool own_if_owner);

 private:
  struct Task;
  static void enter();

  std::vector<std::unique_ptr<Task>> tasks_;
  std::unique_ptr<Task> main_;
  Task* running_ = nullptr;
};

/// Every schedule with at most so many changes of a task that could have gone on: calls `run` with a choice for each,
/// until it returns false or all were tried. Returns how many there were.
std::uint64_t each_schedule(std::size_t changes_max, const std::function<bool(const ViewScheduler::Choose&)>& run);

}  // namespace holdfast::testing
