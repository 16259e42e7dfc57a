#include "server/items_report.h"

#include "server/busy_items.h"
#include "server/limits.h"

#include <algorithm>

namespace holdfast {
namespace {

ItemsReport::ItemFigures figures_of(const Item& item, std::uint64_t asked) {
  return {item.named->name, item.counters, item.total, item.sequence, asked};
}

}  // namespace

std::unique_ptr<ItemsReport> ItemsReporter::make(const Inventory& inventory, const BusyItems& busy,
                                                 std::size_t items_max) {
  auto report = std::make_unique<ItemsReport>();
  std::vector<const Item*> shown;
  std::vector<std::uint64_t> asked;
  for (const BusyItems::Place& place : busy.ranking()) {
    if (shown.size() == items_max) break;
    const Item* item = inventory.item_at(place.index);
    if (item == nullptr || item->number != place.item) continue;
    shown.push_back(item);
    asked.push_back(place.count);
  }

  for (std::uint32_t index = 0; index < kReportLooksMax && shown.size() < items_max; ++index) {
    const Item* item = inventory.item_at(index);
    if (item != nullptr && std::find(shown.begin(), shown.end(), item) == shown.end()) shown.push_back(item);
  }
  asked.resize(shown.size());
  for (std::size_t i = 0; i < shown.size(); ++i) report->items.push_back(figures_of(*shown[i], asked[i]));
  count_memory(inventory);
  report->memory = counted_;
  report->memory += inventory.shared_memory();
  return report;
}

ItemsReport merge_reports(std::span<const std::unique_ptr<ItemsReport>> parts, std::size_t items_max) {
  ItemsReport whole;
  for (const auto& part : parts) {
    whole.items.insert(whole.items.end(), part->items.begin(), part->items.end());
    whole.memory += part->memory;
  }
  std::stable_sort(whole.items.begin(), whole.items.end(),
                   [](const auto& a, const auto& b) { return a.asked > b.asked; });
  whole.items.resize(std::min(whole.items.size(), items_max));
  return whole;
}

void ItemsReporter::count_memory(const Inventory& inventory) {
  const std::size_t end = inventory.indexes_end();
  const std::size_t until = std::min(next_ + kReportMemoryItemsMax, end);
  counting_ += inventory.items_memory(next_, until);
  next_ = until;
  if (until < end) return;
  counted_ = counting_;
  counting_ = {};
  next_ = 0;
}

}  // namespace holdfast
