// A state as a snapshot tells it, as lines of text; two states are the same when their lines are, in whatever slots their
// reservations lie. One thread.
#pragma once

#include "server/inventory.h"
#include "storage/snapshot.h"

#include <map>
#include <string>
#include <vector>

namespace holdfast::testing {

class SnapshotText final : public SnapshotVisitor {
 public:
  Result<void> on_log(const SnapshotLog& log) override;
  Result<void> on_name(const SnapshotName& name) override;
  Result<void> on_version(const SnapshotVersion& version) override;
  Result<void> on_item(const SnapshotItem& item) override;
  Result<void> on_row(const SnapshotRow& row) override;
  Result<void> on_order(std::span<const std::uint32_t> slots) override;
  Result<void> on_adjust(const ReservationId& id, std::int64_t delta) override;
  Result<void> on_item_end() override;

  /// By item; names in their order under "".
  const std::map<std::string, std::vector<std::string>>& lines() const noexcept { return lines_; }

 private:
  std::map<std::string, std::vector<std::string>> lines_;
  std::vector<std::string>* item_ = nullptr;
  std::map<std::uint32_t, std::string> ids_;  // of the item's rows, by slot
};

/// What all inventories have together, each item by its name.
std::map<std::string, std::vector<std::string>> items_as_text(const std::vector<Inventory*>& inventories);

}  // namespace holdfast::testing
