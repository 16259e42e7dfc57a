#include "tests/bench/scaling/log_thread.h"

#include "tests/bench/scaling/shard_thread.h"

namespace holdfast::scaling {

bool LogThread::plan() {
  if (flushing_) return false;
  if (!at_disk_.empty()) owner_.committed(std::exchange(at_disk_, {}));
  if (waiting_.empty()) return false;
  at_disk_ = std::exchange(waiting_, {});
  std::size_t records = 0;
  for (const Group& group : at_disk_) records += group.records;
  ++world_.batches;
  const auto count = static_cast<double>(records);
  then(world_.costs.commit + count * world_.costs.record, [this, count] {
    flushing_ = true;
    world_.machine.at(world_.machine.now() + world_.costs.flush + count * world_.costs.flush_record, [this] {
      flushing_ = false;
      world_.machine.wake(*this);
    });
  });
  return true;
}

}  // namespace holdfast::scaling
