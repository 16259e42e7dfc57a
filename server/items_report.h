// How a scrape hears of single items: it asks, the shard's thread answers in its own turn with a few of them, and nobody
// waits for anybody. One asker, one answerer.
#pragma once

#include "server/inventory.h"

#include <atomic>
#include <memory>
#include <string>
#include <vector>

namespace holdfast {

/// The items that are asked for most, as they stood in one turn. A value.
struct ItemsReport {
  struct ItemFigures {
    std::string name;
    Counters counters;
    std::int64_t total = 0;
    Sequence sequence;
    std::uint64_t asked = 0;  // how often lately; only for comparing
  };
  std::vector<ItemFigures> items;
  InventoryMemory memory;
};

/// The report of a server with several shards: of each one's, up to `items_max` items, those asked for most first.
ItemsReport merge_reports(std::span<const std::unique_ptr<ItemsReport>> parts, std::size_t items_max);

class ItemsMailbox {
 public:
  ItemsMailbox() = default;
  ItemsMailbox(const ItemsMailbox&) = delete;
  ItemsMailbox& operator=(const ItemsMailbox&) = delete;
  ~ItemsMailbox() { delete answer_.load(); }

  // Who asks.

  void ask() noexcept { wanted_.store(true, std::memory_order_release); }
  /// The answer, once; nothing while there is none.
  std::unique_ptr<ItemsReport> take() noexcept {
    return std::unique_ptr<ItemsReport>(answer_.exchange(nullptr, std::memory_order_acq_rel));
  }

  // Who answers.

  /// Whether somebody has asked and has no answer yet.
  bool requested() const noexcept { return wanted_.load(std::memory_order_acquire); }
  /// The same; the request is then taken.
  bool take_request() noexcept {
    return wanted_.load(std::memory_order_relaxed) && wanted_.exchange(false, std::memory_order_acquire);
  }
  void answer(std::unique_ptr<ItemsReport> report) noexcept {
    delete answer_.exchange(report.release(), std::memory_order_acq_rel);
  }

 private:
  std::atomic<bool> wanted_{false};
  std::atomic<ItemsReport*> answer_{nullptr};
};

/// Makes reports; the shard's thread. A report costs about the same however many items there are.
class ItemsReporter {
 public:
  /// The busiest items, and after them the first ones of ITEM LIST, up to `items_max`.
  std::unique_ptr<ItemsReport> make(const Inventory& inventory, const class BusyItems& busy, std::size_t items_max);

 private:
  /// Counts the memory of some more items.
  void count_memory(const Inventory& inventory);

  InventoryMemory counted_;   // of all items, the last time round
  InventoryMemory counting_;  // of those before next_
  std::size_t next_ = 0;
};

}  // namespace holdfast
