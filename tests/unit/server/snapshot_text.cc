#include "tests/unit/server/snapshot_text.h"

#include "server/inventory_snapshot.h"

#include <fmt/format.h>

#include <algorithm>

namespace holdfast::testing {
namespace {

std::string text_of(const ReservationId& id) {
  const auto text = id.text();
  return std::string(text.data(), text.size());
}

std::string text_of(const ItemDefinition& definition) {
  return fmt::format("stock {} limit {} {} ttl {} max-hold {} opens {} closes {} price {} '{}' '{}' '{}'",
                     definition.stock, definition.limit, scope_name(definition.scope), definition.ttl.count(),
                     definition.max_hold.count(), to_ms(definition.opens_at), to_ms(definition.closes_at),
                     definition.price, definition.currency, definition.sale, definition.product);
}

}  // namespace

Result<void> SnapshotText::on_log(const SnapshotLog& log) {
  lines_[""].push_back(fmt::format("highest {} held {}", log.item_number_max.value(), log.returns_held));
  return {};
}

Result<void> SnapshotText::on_name(const SnapshotName& name) {
  lines_[""].push_back(fmt::format("name {} {}", name.name, name.version.value()));
  return {};
}

Result<void> SnapshotText::on_version(const SnapshotVersion& version) {
  lines_[""].push_back(fmt::format("version {} {} {} last {} {}", version.item.value(), version.name,
                                   version.version.value(), version.last.value(), text_of(version.definition)));
  return {};
}

Result<void> SnapshotText::on_item(const SnapshotItem& item) {
  item_ = &lines_[std::string(item.name)];
  item_->push_back(fmt::format("{} v{} {} {}{} seq {} base {} a {} r {} c {} h {} total {}", item.number.value(),
                               item.version.value(), state_name(item.state), item.returns_held, item.fenced,
                               item.sequence.value(), to_ms(item.base), item.counters.available, item.counters.reserved,
                               item.counters.confirmed, item.counters.held, item.total));
  item_->push_back(text_of(item.definition));
  item_->push_back(text_of(item.loaded));
  return {};
}

Result<void> SnapshotText::on_row(const SnapshotRow& row) {
  ids_[row.slot] = text_of(row.id);
  item_->push_back(fmt::format("row {} {} {}{}{} qty {} created {} time {} seq {} lsn {}", text_of(row.id),
                               row.user.text(), row.exclusive, row.is_newest_expired, row.is_newest_of_sale,
                               row.quantity, to_ms(row.created), row.time ? to_ms(*row.time) : -1, row.sequence.value(),
                               row.lsn.value()));
  item_->back() += fmt::format(" {}", state_name(row.state));
  return {};
}

Result<void> SnapshotText::on_order(std::span<const std::uint32_t> slots) {
  std::string line = "order";
  for (const std::uint32_t slot : slots) line += " " + ids_.at(slot);
  item_->push_back(std::move(line));
  return {};
}

Result<void> SnapshotText::on_adjust(const ReservationId& id, std::int64_t delta) {
  item_->push_back(fmt::format("adjust {} {}", text_of(id), delta));
  return {};
}

Result<void> SnapshotText::on_item_end() {
  std::sort(item_->begin(), item_->end());
  ids_.clear();
  return {};
}

std::map<std::string, std::vector<std::string>> items_as_text(const std::vector<Inventory*>& inventories) {
  SnapshotText text;
  for (const Inventory* inventory : inventories) CHECK(save_items(*inventory, text).has_value());
  return text.lines();
}

}  // namespace holdfast::testing
