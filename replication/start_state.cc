#include "replication/start_state.h"

#include "protocol/check.h"
#include "replication/limits.h"

namespace holdfast {
namespace {

class Translator final : public SnapshotAcceptor {
 public:
  Translator(const SnapshotHeader& header, StartVisitor& visitor)
      : wall_minus_hold_(std::chrono::floor<Millis>(header.clocks.wall - header.clocks.hold)), visitor_(visitor) {}

  Result<void> on_item(const SnapshotItem& item) override;
  Result<void> on_row(const SnapshotRow& row) override;
  Result<void> on_item_end() override { return give_out(); }

 private:
  WallTime wall(HoldTime time) const { return wall_time(to_ms(time)) + wall_minus_hold_; }
  Result<void> give_out();

  Millis wall_minus_hold_;
  StartVisitor& visitor_;
  StartItem item_;
  std::vector<OrderChange> orders_;
};

Result<void> Translator::on_item(const SnapshotItem& item) {
  ItemFacts facts;
  facts.number = item.number;
  facts.name = item.name;
  facts.version = item.version;
  facts.state = item.state;
  facts.returns_held = item.returns_held;
  facts.fenced = item.fenced;
  facts.definition = item.definition;
  item_ = {std::make_shared<const ItemFacts>(std::move(facts)), item.sequence, item.counters};
  return visitor_.on_item(item_);
}

Result<void> Translator::on_row(const SnapshotRow& row) {
  const ItemDefinition& definition = item_.facts->definition;
  OrderChange order;
  order.item = item_.facts->number;
  order.id = row.id;
  order.user = row.user.text();
  order.quantity = Quantity(row.quantity);
  order.to = status_of(row.state);
  order.sets_expiry = true;
  order.exclusive = row.exclusive;
  order.price = definition.price;
  order.currency = definition.currency;
  order.sale = definition.sale;
  order.reserved_at = wall(row.created);
  order.first = order.last = row.sequence;
  order.last_lsn = row.lsn;
  order.last_at = order.reserved_at;
  const bool pending = order.to == OrderStatus::pending;
  if (row.time && pending) order.expires_at = wall(*row.time);
  if (row.time && !pending) order.last_at = wall(*row.time);
  orders_.push_back(std::move(order));
  return orders_.size() < kBatchEventsMax ? Result<void>() : give_out();
}

Result<void> Translator::give_out() {
  if (orders_.empty()) return {};
  auto done = visitor_.on_orders(item_, orders_);
  orders_.clear();
  return done;
}

}  // namespace

WallTime StartState::at() const noexcept {
  return WallTime(std::chrono::floor<Millis>(snapshot_.header().clocks.wall));
}

Result<void> StartState::read(StartVisitor& visitor) {
  Translator translator(snapshot_.header(), visitor);
  const auto totals = snapshot_.read(translator, progress_);
  if (!totals) return totals.error();
  return {};
}

}  // namespace holdfast
