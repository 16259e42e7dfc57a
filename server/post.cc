#include "server/post.h"

namespace holdfast {
namespace {

ThreadIndex thread(std::size_t index) noexcept { return ThreadIndex(static_cast<std::uint16_t>(index)); }

}  // namespace

Post::Post(Hub& hub, ThreadIndex self) : hub_(hub), self_(self), news_(hub.threads()) {}

void Post::send(ThreadIndex to, std::unique_ptr<CommandBlock> block) {
  hub_.lane(self_, to).commands.send(std::move(block));
  news_[to.value()] = true;
}

void Post::send(ThreadIndex to, std::unique_ptr<ReplyBlock> block) {
  hub_.lane(self_, to).replies.send(std::move(block));
  news_[to.value()] = true;
}

void Post::send(ThreadIndex to, ThreadMessage message) {
  hub_.lane(self_, to).messages.send(std::make_unique<ThreadMessage>(std::move(message)));
  news_[to.value()] = true;
}

std::unique_ptr<CommandBlock> Post::command_block(ThreadIndex to) {
  auto block = hub_.lane(self_, to).commands.take_back();
  return block != nullptr ? std::move(block) : std::make_unique<CommandBlock>();
}

void Post::wake_receivers() {
  for (std::size_t i = 0; i < threads(); ++i) {
    Hub::Lane& to = hub_.lane(self_, thread(i));
    if (!to.commands.outbox_empty() || !to.replies.outbox_empty() || !to.messages.outbox_empty()) {
      to.commands.flush();
      to.replies.flush();
      to.messages.flush();
      news_[i] = true;
    }
    if (!news_[i]) continue;
    news_[i] = false;
    if (thread(i) != self_) hub_.waker(thread(i)).wake();
  }
}

bool Post::all_sent() const noexcept {
  for (std::size_t i = 0; i < threads(); ++i) {
    const Hub::Lane& to = hub_.lane(self_, thread(i));
    if (!to.commands.outbox_empty() || !to.replies.outbox_empty() || !to.messages.outbox_empty()) return false;
  }
  return true;
}

bool Post::has_mail() const noexcept {
  for (std::size_t i = 0; i < threads(); ++i) {
    const Hub::Lane& from = lane(thread(i));
    if (!from.commands.empty() || !from.replies.empty() || !from.messages.empty()) return true;
  }
  return false;
}

bool Post::has_messages() const noexcept {
  for (std::size_t i = 0; i < threads(); ++i) {
    if (!lane(thread(i)).messages.empty()) return true;
  }
  return false;
}

bool Post::has_replies() const noexcept {
  for (std::size_t i = 0; i < threads(); ++i) {
    if (!lane(thread(i)).replies.empty()) return true;
  }
  return false;
}

void Post::give_back(ThreadIndex from, std::unique_ptr<CommandBlock> block) {
  block->clear();
  lane(from).commands.give_back(std::move(block));
}

}  // namespace holdfast
