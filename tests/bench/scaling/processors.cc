#include "tests/bench/scaling/processors.h"

#include "protocol/check.h"

namespace holdfast::scaling {

bool Machine::wake(Thread& thread) {
  if (!thread.sleeping_) return false;
  thread.sleeping_ = false;
  Processor& own = processor(thread);
  if (own.idle) {
    own.idle = false;
    start(thread, now_ + wake_latency_);
  } else {
    own.ready.push_back(&thread);
  }
  return true;
}

void Machine::at(Nanos when, std::function<void()> what) {
  CHECK(when >= now_);
  events_.push({when, events_made_++, std::move(what)});
}

void Machine::run(Nanos until) {
  while (!events_.empty() && events_.top().when <= until) {
    now_ = events_.top().when;
    const auto what = events_.top().what;
    events_.pop();
    what();
  }
  now_ = until;
}

void Machine::start(Thread& thread, Nanos when) {
  thread.slice_left_ = slice_;
  at(when, [this, &thread] { go_on(thread); });
}

/// The thread has its processor and has done what it said.
void Machine::go_on(Thread& thread) {
  Processor& own = processor(thread);
  if (thread.slice_left_ <= Nanos() && !own.ready.empty()) {
    own.ready.push_back(&thread);
    return leave(own);
  }
  const auto time = thread.next();
  if (!time) {
    thread.sleeping_ = true;
    return leave(own);
  }
  thread.slice_left_ -= *time;
  thread.used_ += *time;
  at(now_ + *time, [this, &thread] { go_on(thread); });
}

/// The processor goes to who waited longest.
void Machine::leave(Processor& processor) {
  processor.idle = processor.ready.empty();
  if (processor.idle) return;
  Thread& first = *processor.ready.front();
  processor.ready.pop_front();
  start(first, now_);
}

}  // namespace holdfast::scaling
