#include "server/gate.h"

#include "protocol/check.h"

#include <algorithm>

namespace holdfast {

void Gate::open(GroupOrdinal group) {
  CHECK(groups_.empty() || groups_.back().ordinal < group);
  if (spare_.empty()) spare_.push_back({{}, std::vector<Blocks>(ready_.size())});
  groups_.push_back(std::move(spare_.back()));
  spare_.pop_back();
  groups_.back().ordinal = group;
}

void Gate::reply(ThreadIndex thread, ReplyAddress address, GroupOrdinal rests_on, std::string_view bytes,
                 const Arrival& arrival) {
  if (rests_on == GroupOrdinal()) return append(ready_[thread.value()], address, bytes, arrival);
  // Nearly always the newest group, and there are few.
  const auto group =
      std::find_if(groups_.rbegin(), groups_.rend(), [&](const Group& open) { return open.ordinal == rests_on; });
  CHECK(group != groups_.rend());
  append(group->blocks[thread.value()], address, bytes, arrival);
  ++waiting_;
}

void Gate::append(Blocks& blocks, ReplyAddress address, std::string_view bytes, const Arrival& arrival) {
  if (blocks.empty() || blocks.back()->full()) blocks.push_back(pool_.take());
  blocks.back()->add(address, bytes);
  blocks.back()->note(arrival);
}

void Gate::release(GroupOrdinal through) {
  while (!groups_.empty() && groups_.front().ordinal <= through) {
    Group& group = groups_.front();
    for (std::size_t thread = 0; thread < ready_.size(); ++thread) {
      for (auto& block : group.blocks[thread]) {
        waiting_ -= block->size();
        ready_[thread].push_back(std::move(block));
      }
      group.blocks[thread].clear();
    }
    spare_.push_back(std::move(group));
    groups_.pop_front();
  }
}

std::unique_ptr<ReplyBlock> Gate::take(ThreadIndex thread) {
  Blocks& blocks = ready_[thread.value()];
  if (blocks.empty()) return nullptr;
  std::unique_ptr<ReplyBlock> block = std::move(blocks.front());
  blocks.pop_front();
  return block;
}

}  // namespace holdfast
