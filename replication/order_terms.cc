#include "replication/order_terms.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "protocol/check.h"
#include "protocol/outside_text.h"

#include <fmt/format.h>

namespace holdfast {

std::uint64_t offer_digest(std::optional<std::int64_t> price, std::optional<std::string_view> currency,
                           std::optional<std::string_view> sale) {
  // Outside texts have no control characters.
  const std::string text =
      fmt::format("{}\n{}\n{}", price ? fmt::format("{}", *price) : "\t", currency.value_or("\t"), sale.value_or("\t"));
  return XXH3_64bits(text.data(), text.size());
}

OrderTermSet told_by(std::string_view event) {
  if (event == "RESERVE") return {OrderTerm::exclusive, OrderTerm::reserved_at, OrderTerm::expires_at};
  if (event == "RESUME") return {OrderTerm::exclusive};
  if (event == "EXTEND") return {OrderTerm::expires_at};
  return {};
}

OrderTerms terms_of(const Event& event, bool offered) {
  CHECK(event.reservation() != nullptr);
  const ReservationChange& change = *event.reservation();
  OrderTerms terms;
  terms.told = told_by(event.name());
  terms.exclusive = change.exclusive;
  if (change.expires_at) terms.expires_at_ms = to_ms(*change.expires_at);
  terms.reserved_at_ms = to_ms(event.at);
  if (!offered || !terms.begins_life()) return terms;
  const ItemDefinition& definition = event.item->definition;
  terms.told.add(OrderTerm::offer);
  terms.price = definition.price;
  terms.offer = offer_digest(definition.price, outside_text(definition.currency), outside_text(definition.sale));
  return terms;
}

void OrderTerms::take(const OrderTerms& later, OrderTermSet which) noexcept {
  told = told.with(which);
  if (which.has(OrderTerm::exclusive)) exclusive = later.exclusive;
  if (which.has(OrderTerm::offer)) {
    offer = later.offer;
    price = later.price;
  }
  if (which.has(OrderTerm::reserved_at)) reserved_at_ms = later.reserved_at_ms;
  if (which.has(OrderTerm::expires_at)) expires_at_ms = later.expires_at_ms;
}

OrderTermSet differing_terms(const OrderTerms& right, const OrderTerms& row) {
  OrderTermSet differ;
  const auto judge = [&](OrderTerm term, bool same) {
    if (right.told.has(term) && !same) differ.add(term);
  };
  judge(OrderTerm::exclusive, right.exclusive == row.exclusive);
  judge(OrderTerm::offer, right.offer == row.offer);
  judge(OrderTerm::reserved_at, right.reserved_at_ms == row.reserved_at_ms);
  judge(OrderTerm::expires_at, right.expires_at_ms == row.expires_at_ms);
  return differ;
}

std::string show_terms(const OrderTerms& terms, OrderTermSet which) {
  std::string text;
  const auto put = [&](OrderTerm term, const std::string& what) {
    if (which.has(term)) text += (text.empty() ? "" : ", ") + what;
  };
  put(OrderTerm::exclusive, terms.exclusive ? "exclusive" : "not exclusive");
  put(OrderTerm::offer, fmt::format("price {} with its currency and sale", terms.price));
  put(OrderTerm::reserved_at, fmt::format("reserved at {}", terms.reserved_at_ms));
  put(OrderTerm::expires_at,
      terms.expires_at_ms ? fmt::format("expires at {}", *terms.expires_at_ms) : std::string("does not expire"));
  return text;
}

}  // namespace holdfast
