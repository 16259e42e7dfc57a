// Asks the memory for what the RESERVE of a block will look at before the first of them is executed: in the indexes of a large
// item each of them would else wait for it, one after the other. It changes nothing that anybody can see but time. The
// shard's thread.
#pragma once

#include "server/inventory.h"
#include "server/message.h"

#include <array>

namespace holdfast {

class Lookahead {
 public:
  /// Items with fewer reservations are in the processor's caches.
  static constexpr std::uint64_t kRowsMin = 16'384;

  /// REQUIRES: at most kBlockCommandsMax commands.
  void look(const Inventory& inventory, std::span<const StepCommand> commands);

 private:
  struct Asked {
    const ItemRows* rows;
    std::uint64_t user;
    std::uint64_t id;
    bool has_id;
  };
  std::array<Asked, kBlockCommandsMax> asked_;
};

}  // namespace holdfast
