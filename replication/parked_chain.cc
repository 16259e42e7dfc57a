#include "replication/parked_chain.h"

#include "protocol/check.h"
#include "replication/outside_id.h"

#include <fmt/format.h>

#include <array>

namespace holdfast {
namespace {

constexpr std::array<std::string_view, 5> kReasons = {"no_room", "duplicate_live", "bad_id", "foreign_row", "refused"};

void note_last(ParkedChain& chain, const EventStep& step) {
  chain.stock_delta += step.stock_delta;
  chain.last = step.event->sequence;
  chain.last_lsn = step.event->lsn;
  chain.changed_at = step.event->at;
}

}  // namespace

std::string_view reason_name(ParkReason reason) noexcept { return kReasons[static_cast<std::size_t>(reason)]; }

std::optional<ParkReason> parse_reason(std::string_view text) noexcept {
  for (std::size_t i = 0; i < kReasons.size(); ++i) {
    if (kReasons[i] == text) return static_cast<ParkReason>(i);
  }
  return std::nullopt;
}

std::string chain_key(const Event& event) {
  if (const auto* const reservation = event.reservation()) return id_text(reservation->id);
  if (event.is(ItemEvent::adjust)) return "adjust:" + id_text(event.item_change()->adjust_id);
  return fmt::format("sequence:{}", event.sequence.value());
}

ParkedChain begin_chain(const EventStep& step, ParkReason reason, std::string detail) {
  const Event& event = *step.event;
  ParkedChain chain;
  chain.number = event.item->number;
  chain.key = chain_key(event);
  chain.reason = reason;
  chain.detail = std::move(detail);
  if (event.reservation() != nullptr) chain.change = begin_change(event);
  chain.first = event.sequence;
  chain.parked_at = event.at;
  note_last(chain, step);
  return chain;
}

ParkedChain begin_chain(const OrderChange& order, ParkReason reason, std::string detail, WallTime at) {
  ParkedChain chain;
  chain.number = order.item;
  chain.key = id_text(order.id);
  chain.reason = reason;
  chain.detail = std::move(detail);
  chain.change = order;
  chain.first = order.first;
  chain.last = order.last;
  chain.last_lsn = order.last_lsn;
  chain.parked_at = at;
  chain.changed_at = order.last_at;
  return chain;
}

Result<void> follow_chain(ParkedChain& chain, const EventStep& step) {
  CHECK(chain.parked && chain.change);
  HOLDFAST_TRY(follow_change(*chain.change, *step.event));
  note_last(chain, step);
  return {};
}

OrderFold fold_chain(const ParkedChain& chain, const ItemFactsPointer& item) {
  OrderFold fold;
  ItemSum sum{item, chain.stock_delta, 0, chain.last, chain.changed_at, false};
  if (chain.change) {
    const OrderChange& change = *chain.change;
    sum.sold_delta = change.sold_delta();
    auto& to = !change.from ? fold.inserts : change.resumes() ? fold.resumes : fold.updates;
    to.push_back(change);
  }
  fold.items.push_back(std::move(sum));
  return fold;
}

}  // namespace holdfast
