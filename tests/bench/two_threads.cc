#include "tests/bench/two_threads.h"

#include "protocol/check.h"

namespace holdfast::bench {
namespace {

Shard::Settings settings(bool views) {
  Shard::Settings settings;
  settings.threads = TwoThreads::kThreads;
  settings.inventory.place = {ShardIndex(0), TwoThreads::kThreads};
  settings.inventory.views = views;
  settings.group_bytes = 1_MiB;
  return settings;
}

}  // namespace

TwoThreads::TwoThreads(ThreadIndex from, bool views)
    : hub_(kThreads, options_, std::string(40, '0')),
      post_(hub_, from),
      owner_post_(hub_, kOwner),
      shard_(settings(views), owner_telemetry_.stats),
      views_(shard_.inventory().views().hashes()),
      session_({1, 1}, 1, {"127.0.0.1:5000", "127.0.0.1:7379", 9}, now_.wall, *this) {
  shard_.begin();
}

std::string TwoThreads::item() {
  const Router router(kThreads);
  std::string name = "item";
  while (router.owner(*ItemName::parse(name)).value() != kOwner.value()) name += 'x';
  return name;
}

std::string_view TwoThreads::ask(std::string_view requests) {
  begin_input();
  telemetry_.begin_turn(now_.hold.time_since_epoch());
  while (!requests.empty()) {
    Session::Turn turn;
    requests.remove_prefix(session_.receive(requests, turn));
    if (filling_ != nullptr) send_block();
    post_.wake_receivers();
    telemetry_.end_reads(read_clock());
    run_owner();
    commit();
    take_replies();
  }
  telemetry_.end_turn(now_.hold.time_since_epoch(), 0);
  learn_views();
  return session_.output();
}

ViewTime TwoThreads::view_time() {
  if (!view_time_) view_time_ = ViewTime::of(now_);
  return *view_time_;
}

void TwoThreads::forward(ShardIndex, const StepCommand& command) {
  --credits_;
  if (filling_ != nullptr && filling_->add(command)) return;
  if (filling_ != nullptr) send_block();
  filling_ = post_.command_block(kOwner);
  filling_->set_arrived(telemetry_.began());
  CHECK(filling_->add(command));
}

void TwoThreads::send_block() { post_.send(kOwner, std::move(filling_)); }

void TwoThreads::run_owner() {
  while (auto block = owner_post_.next_commands(post_.self())) {
    shard_.run(*block, post_.self(), now_);
    static_cast<void>(owner_telemetry_.note_batch(block->commands(), now_.hold.time_since_epoch()));
    owner_post_.give_back(post_.self(), std::move(block));
  }
  shard_.publish(now_);
}

/// The log's part, but for its bytes: the group is durable at once.
void TwoThreads::commit() {
  if (Group* const group = shard_.hand_over(); group != nullptr) {
    group->place(next_lsn_);
    next_lsn_ = Lsn(next_lsn_.value() + group->record_count());
    shard_.committed(*group, now_);
  }
  while (auto block = owner_post_.used_reply_block(post_.self())) shard_.give_back(std::move(block));
  while (auto block = shard_.take_replies(post_.self())) owner_post_.send(post_.self(), std::move(block));
  owner_post_.wake_receivers();
}

void TwoThreads::take_replies() {
  while (auto block = post_.next_replies(kOwner)) {
    for (std::size_t i = 0; i < block->size(); ++i) {
      const ReplyBlock::Reply reply = block->reply(i);
      session_.answer_from(ShardIndex(kOwner.value()), reply.address.slot, reply.bytes);
    }
    telemetry_.note_replies(block->arrivals());
    credits_ += block->size();
    post_.give_back(kOwner, std::move(block));
  }
}

void TwoThreads::learn_views() {
  while (shard_.inventory().views().has_work()) static_cast<void>(shard_.keep_time(now_));
  for (const ViewNews& news : shard_.take_view_news(post_.self())) views_.learn(news.item, news.view);
}

}  // namespace holdfast::bench
