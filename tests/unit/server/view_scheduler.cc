#include "tests/unit/server/view_scheduler.h"

#include "protocol/check.h"

#include <ucontext.h>

#include <algorithm>

namespace holdfast::testing {
namespace {

#ifdef NDEBUG
constexpr std::size_t kStackBytes = std::size_t{64} << 10;
#else
constexpr std::size_t kStackBytes = std::size_t{512} << 10;
#endif
ViewScheduler* active = nullptr;
std::uint64_t ticks = 0;

}  // namespace

struct ViewScheduler::Task {
  ucontext_t context{};
  std::unique_ptr<char[]> stack = std::make_unique_for_overwrite<char[]>(kStackBytes);
  std::function<void()> body;
  bool done = false;
};

ViewScheduler::ViewScheduler() : main_(std::make_unique<Task>()) {
  CHECK(active == nullptr);
  active = this;
  ticks = 0;
}

ViewScheduler::~ViewScheduler() { active = nullptr; }

std::uint64_t ViewScheduler::tick() noexcept { return ticks; }

void ViewScheduler::add(std::function<void()> body) {
  auto task = std::make_unique<Task>();
  task->body = std::move(body);
  CHECK(getcontext(&task->context) == 0);
  task->context.uc_stack.ss_sp = task->stack.get();
  task->context.uc_stack.ss_size = kStackBytes;
  task->context.uc_link = &main_->context;
  makecontext(&task->context, &ViewScheduler::enter, 0);
  tasks_.push_back(std::move(task));
}

void ViewScheduler::enter() {
  Task* self = active->running_;
  self->body();
  self->done = true;
}

void ViewScheduler::run(const Choose& choose) {
  std::vector<Task*> ready;
  for (const auto& task : tasks_) ready.push_back(task.get());
  while (!ready.empty()) {
    const bool goes_on = running_ != nullptr && !running_->done;
    // The one that ran last comes first.
    if (goes_on) std::swap(*ready.begin(), *std::find(ready.begin(), ready.end(), running_));
    running_ = ready[ready.size() == 1 ? 0 : choose(ready.size(), goes_on)];
    ++ticks;
    CHECK(swapcontext(&main_->context, &running_->context) == 0);
    if (running_->done) std::erase(ready, running_);
  }
  running_ = nullptr;
}

void ViewScheduler::access(bool own_if_owner) {
  if (active == nullptr || active->running_ == nullptr) return;
  Task* self = active->running_;
  if (own_if_owner && self == active->tasks_.front().get()) return;
  CHECK(swapcontext(&self->context, &active->main_->context) == 0);
}

std::uint64_t each_schedule(std::size_t changes_max, const std::function<bool(const ViewScheduler::Choose&)>& run) {
  struct Step {
    std::size_t choice;
    std::size_t ways;
  };
  std::vector<Step> path;
  for (std::uint64_t count = 1;; ++count) {
    std::size_t at = 0;
    std::size_t changes = 0;
    const bool more = run([&](std::size_t ways, bool goes_on) {
      if (goes_on && changes == changes_max) ways = 1;
      if (at == path.size()) path.push_back({0, ways});
      const std::size_t choice = path[at++].choice;
      if (goes_on && choice != 0) ++changes;
      return choice;
    });
    path.resize(at);
    while (!path.empty() && path.back().choice + 1 == path.back().ways) path.pop_back();
    if (path.empty() || !more) return count;
    ++path.back().choice;
  }
}

}  // namespace holdfast::testing
