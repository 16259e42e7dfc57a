#include "server/hub.h"

namespace holdfast {

Hub::Hub(std::size_t threads, const Options& options, std::string run_id)
    : router(static_cast<std::uint16_t>(threads)), run_id_(std::move(run_id)), options_(options) {
  for (std::size_t i = 0; i < threads; ++i) wakers_.push_back(std::make_unique<Waker>());
  for (std::size_t i = 0; i < threads * threads; ++i) lanes_.push_back(std::make_unique<Lane>(options.mailbox_blocks));
}

void Hub::wake_all() noexcept {
  for (const auto& waker : wakers_) waker->wake();
}

Result<void> Hub::change_options(const OptionsChange& change) {
  {
    const std::lock_guard lock(mutex_);
    Options changed = options_;
    HOLDFAST_TRY(change(changed));
    options_ = std::move(changed);
    options_version_.fetch_add(1, std::memory_order_acq_rel);
  }
  wake_all();
  return {};
}

Options Hub::options() const {
  const std::lock_guard lock(mutex_);
  return options_;
}

void Hub::serve() noexcept {
  serving_.store(true, std::memory_order_release);
  wake_all();
}

void Hub::stop() noexcept {
  stop_.store(true, std::memory_order_release);
  wake_all();
}

}  // namespace holdfast
