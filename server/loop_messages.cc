// What threads tell each other besides commands and replies, and what a thread does about it.
#include "protocol/check.h"
#include "server/log_stream_thread.h"
#include "server/loop.h"

namespace holdfast {
namespace {

template <class... Functions>
struct Overloaded : Functions... {
  using Functions::operator()...;
};
template <class... Functions>
Overloaded(Functions...) -> Overloaded<Functions...>;

}  // namespace

void Loop::take_messages() {
  for (std::size_t i = 0; i < hub_.threads(); ++i) {
    while (auto message = post_.next_message(thread_at(i))) take(*message);
  }
  take_log_mail();
}

/// From the thread that reads the log. Nothing comes before the shard is there.
void Loop::take_log_mail() {
  if (hub_.log_stream == nullptr || !hub_.log_stream->has_mail(post_.self())) return;
  if (loading()) return;
  const LogStreamThread::Mail mail = hub_.log_stream->take_mail(post_.self());
  if (mail.board != nullptr) shard_->set_sinks(mail.board, clocks_->now(clock_.read()));
  for (const StreamReply& reply : mail.replies) connections_.answer(reply.address, reply.bytes);
}

void Loop::take(ThreadMessage& message) {
  std::visit(Overloaded{[&](Newcomer& newcomer) { connections_.adopt(std::move(newcomer)); },
                        [&](AskedOrder& asked) { connections_.take(std::move(asked)); },
                        [&](OrderPart& part) { connections_.take(std::move(part)); },
                        [&](const MonitorLine& line) { connections_.show(line); },
                        [&](SlowBatch& slow) { add_slow(std::move(slow.entry), slow.connection); },
                        [&](const Delivery& delivery) { connections_.deliver(delivery); },
                        [&](const ViewsToKnow& known) {
                          // Who tells of views serves, and all threads do from the same moment on.
                          CHECK(!loading());
                          take(known);
                        },
                        [&](const ItemAsked& item) { shard_->note_asked(item.asked.owner, item.asked.times); },
                        [&](const ViewToForget& forget) { take(forget); },
                        [&](const ViewForgotten& forgotten) { take(forgotten); }},
             message);
}

// Views. No thread is in the middle of reading one when it takes messages.

void Loop::take(const ViewsToKnow& known) {
  for (const ViewNews& news : known.views) {
    views_->learn(news.item, news.view, {known.owner, news.item_index, news.number});
  }
}

/// Owners know which items are asked for most, also where they are not asked themselves.
void Loop::send_asked() {
  if (!views_) return;
  for (const ViewAsked& asked : views_->take_asked()) {
    const ThreadIndex owner(asked.owner.shard.value());
    owner == post_.self() ? shard_->note_asked(asked.owner, asked.times) : post_.send(owner, ItemAsked{asked});
  }
}

void Loop::take(const ViewToForget& forget) {
  if (forget.view != nullptr && views_) views_->forget(forget.view);
  if (forget.owner == post_.self()) return take(ViewForgotten{forget.ticket});
  post_.send(forget.owner, ViewForgotten{forget.ticket});
}

void Loop::take(ViewForgotten forgotten) {
  const auto found = forgetting_.find(forgotten.ticket.value());
  CHECK(found != forgetting_.end());
  if (--found->second > 0) return;
  forgetting_.erase(found);
  shard_->reclaim(forgotten.ticket);
}

/// What this thread's shard has to tell of its views.
void Loop::send_view_news() {
  for (std::size_t i = 0; i < hub_.threads(); ++i) {
    ViewsToKnow known{ShardIndex(post_.self().value()), shard_->take_view_news(thread_at(i))};
    if (known.views.empty()) continue;
    thread_at(i) == post_.self() ? take(known) : post_.send(thread_at(i), std::move(known));
  }
  for (const RetiredView& retired : shard_->take_retired()) {
    const ViewToForget forget{post_.self(), retired.ticket, retired.view};
    forgetting_.emplace(retired.ticket.value(), hub_.threads());
    post_.send_to_others(forget);
    take(forget);
  }
}

ViewTime Loop::view_time() {
  if (!view_time_) view_time_ = ViewTime::of(clocks_->now(clock_.read()));
  return *view_time_;
}

}  // namespace holdfast
