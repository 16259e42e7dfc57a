#include "server/transaction_step.h"

#include "protocol/check.h"

#include <fmt/format.h>

#include <cstring>

namespace holdfast {
namespace {

constexpr std::size_t kWordsBefore = 2;  // header and item

/// A command that is about no item.
void run_itemless(CommandId id, Words words, const Now& now, ReplyWriter& reply) {
  switch (id) {
    case CommandId::ping:
      if (words.size() > 2) return reply.raw_error("ERR wrong number of arguments for 'ping' command");
      return words.size() == 2 ? reply.bulk(words[1]) : reply.status("PONG");
    case CommandId::echo:
      return reply.bulk(words[1]);
    case CommandId::time:
      reply.array(2);
      reply.bulk(fmt::format_int(to_ms(now.wall) / 1000).str());
      return reply.bulk(fmt::format_int(to_ms(now.wall) % 1000 * 1000).str());
    case CommandId::unwatch:
      return reply.status("OK");
    default:
      CHECK(false);
  }
}

std::vector<QueuedHead> read_heads(std::string_view header) {
  CHECK(header.size() % sizeof(QueuedHead) == 1);
  std::vector<QueuedHead> heads(header.size() / sizeof(QueuedHead));
  if (!heads.empty()) std::memcpy(heads.data(), header.data() + 1, header.size() - 1);
  return heads;
}

}  // namespace

WatchMark watch_mark(Inventory& inventory, std::string_view item, const Now& now) {
  const Item* found = inventory.find(ItemName::from_stored(item), now);
  return found == nullptr ? WatchMark() : WatchMark{found->version, found->sequence};
}

StepResult run_transaction(Inventory& inventory, Words packed, const WatchMark& watched, const Now& now,
                           ReplyWriter& reply, std::vector<ExecutedCommand>* executed) {
  StepResult result;
  const std::string_view name = packed[1];
  if (!name.empty()) {
    Item* item = inventory.find(ItemName::from_stored(name), now);
    const Result<void> expired = item == nullptr ? Result<void>() : inventory.expire_all(*item, now);
    result.rests_on = item == nullptr ? inventory.all_rest_on() : inventory.rests_on(*item);
    if (packed[0].front() != '\0' && !(watch_mark(inventory, name, now) == watched)) {
      reply.null_array();
      return result;
    }
    if (!expired) {
      reply.error(expired.error());
      return result;
    }
  }
  const auto heads = read_heads(packed[0]);
  Words words = packed.subspan(kWordsBefore);
  reply.array(heads.size());
  for (const QueuedHead head : heads) {
    const CommandEntry& entry = command_table()[static_cast<std::size_t>(head.id)];
    const Words command = words.first(head.words);
    words = words.subspan(head.words);
    const std::size_t begin = reply.size();
    StepResult done;
    if (is_itemless_in_transaction(head.id)) {
      run_itemless(head.id, command, now, reply);
    } else {
      done = step(inventory, entry, command, now, reply, true);
      result.rests_on = std::max(result.rests_on, done.rests_on);
    }
    if (done.item != ItemNumber()) {
      result.item = done.item;
      result.item_index = done.item_index;
    }
    if (executed != nullptr) executed->push_back({&entry, done, begin});
  }
  CHECK(words.empty());
  return result;
}

}  // namespace holdfast
