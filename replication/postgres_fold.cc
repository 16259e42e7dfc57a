#include "replication/postgres_fold.h"

#include <fmt/format.h>

namespace holdfast {
namespace {

/// Of the words in which the database refused rows. Those of a constraint name it, in whatever language.
ParkReason reason_of(std::string_view refusal) {
  if (refusal.find("flash_sale_order_live") != std::string_view::npos) return ParkReason::duplicate_live;
  if (refusal.find("flash_sale_item_sold") != std::string_view::npos) return ParkReason::no_room;
  return ParkReason::refused;
}

Trial judge(const WriteResult& written, const OrderFold& fold, ParkReason reason, std::string_view detail) {
  Trial trial;
  if (written.refused.empty()) {
    trial.unfit.insert(written.unfit.begin(), written.unfit.end());
    trial.refusal = {reason, std::string(detail)};
    return trial;
  }
  for (const ItemSum& sum : fold.items) trial.unfit.insert(sum.item->number);
  trial.vague = true;
  trial.refusal = {reason_of(written.refused), written.refused};
  return trial;
}

}  // namespace

Result<Trial> PostgresFold::write(const OrderFold& fold, const KnownItems& known) {
  if (fold.empty()) return Trial();
  HOLDFAST_TRY(connection_.begin_part());
  auto trial = try_rows(fold, known);
  if (!trial) return trial.error();
  auto against = connection_.end_part(trial->fits());
  if (!against) return against.error();
  if (!against->empty()) *trial = judge({{}, std::move(*against)}, fold, ParkReason::refused, "");
  if (trial->unfit.size() != 1 || trial->refusal.reason != ParkReason::no_room) return trial;
  auto refusal = why_no_sum(known.at(*trial->unfit.begin()));
  if (!refusal) return refusal.error();
  trial->refusal = std::move(*refusal);
  return trial;
}

Result<Trial> PostgresFold::try_rows(const OrderFold& fold, const KnownItems& known) {
  for (const auto* changes : {&fold.updates, &fold.resumes}) {
    const auto written = tables_.update_orders(*changes, known);
    if (!written) return written.error();
    if (!written->fits()) {
      return judge(*written, fold, ParkReason::foreign_row, "the order's row is gone, or is not as the log says");
    }
  }
  const auto inserted = tables_.insert_orders(fold.inserts, known);
  if (!inserted) return inserted.error();
  if (!inserted->fits()) return judge(*inserted, fold, ParkReason::foreign_row, "the order has a row already");
  const auto described = tables_.describe_items(fold.items, known);
  if (!described) return described.error();
  if (!described->fits()) return judge(*described, fold, ParkReason::refused, "");
  const auto summed = tables_.sum_items(fold.items, known);
  if (!summed) return summed.error();
  return judge(*summed, fold, ParkReason::no_room, "");
}

Result<std::string> PostgresFold::load(RowOfLoad how, const KnownItem& item, const Event& event) {
  HOLDFAST_TRY(connection_.begin_part());
  auto refused = tables_.load_item(how, item, event);
  if (!refused) return refused;
  auto against = connection_.end_part(refused->empty());
  return against && against->empty() ? refused : against;
}

std::optional<Refusal> PostgresFold::why_no_row(const ItemRow& row, const KnownItem& item) {
  if (!row.there) return Refusal{ParkReason::foreign_row, "the item's row is gone"};
  if (row.version == item.facts->version) return std::nullopt;
  return Refusal{ParkReason::foreign_row, fmt::format("the item's row has version {}", row.version.value())};
}

Result<Refusal> PostgresFold::why_no_sum(const KnownItem& item) {
  const auto row = tables_.lock_item(item.item_id);
  if (!row) return row.error();
  if (auto refusal = why_no_row(*row, item)) return *refusal;
  return Refusal{ParkReason::no_room, fmt::format("quantity {}, sold {}", row->quantity, row->sold)};
}

}  // namespace holdfast
