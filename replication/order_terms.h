// What an order says beside its state: what it costs, and its times. Values; any thread.
#pragma once

#include "replication/event.h"

#include <optional>

namespace holdfast {

enum class OrderTerm : std::uint8_t { exclusive = 1, offer = 2, reserved_at = 4, expires_at = 8 };

/// Some of the terms.
class OrderTermSet {
 public:
  constexpr OrderTermSet() = default;
  constexpr OrderTermSet(std::initializer_list<OrderTerm> terms) {
    for (const OrderTerm term : terms) add(term);
  }
  static constexpr OrderTermSet from_bits(unsigned bits) noexcept {
    OrderTermSet set;
    set.bits_ = static_cast<std::uint8_t>(bits);
    return set;
  }

  constexpr bool has(OrderTerm term) const noexcept { return (bits_ & static_cast<std::uint8_t>(term)) != 0; }
  constexpr void add(OrderTerm term) noexcept { bits_ |= static_cast<std::uint8_t>(term); }
  constexpr bool empty() const noexcept { return bits_ == 0; }
  constexpr bool includes(OrderTermSet others) const noexcept { return (others.bits_ & ~bits_) == 0; }
  constexpr OrderTermSet with(OrderTermSet others) const noexcept { return from_bits(bits_ | others.bits_); }
  constexpr OrderTermSet without(OrderTermSet others) const noexcept { return from_bits(bits_ & ~others.bits_); }
  constexpr std::uint8_t bits() const noexcept { return bits_; }
  constexpr bool operator==(const OrderTermSet&) const noexcept = default;

 private:
  std::uint8_t bits_ = 0;
};

/// What one source tells of them.
struct OrderTerms {
  OrderTermSet told;
  bool exclusive = false;
  std::uint64_t offer = 0;  // offer_digest()
  std::int64_t price = 0;   // of the offer, for people
  std::int64_t reserved_at_ms = 0;
  std::optional<std::int64_t> expires_at_ms;  // nothing: no deadline

  /// Those of `later`, from now on.
  void take(const OrderTerms& later, OrderTermSet which) noexcept;
  /// A RESERVE tells when it was, and nothing else does.
  bool begins_life() const noexcept { return told.has(OrderTerm::reserved_at); }
  bool operator==(const OrderTerms&) const = default;
};

/// A number that two orders share only when they say the same of what is paid. Outside texts; nothing: NULL.
std::uint64_t offer_digest(std::optional<std::int64_t> price, std::optional<std::string_view> currency,
                           std::optional<std::string_view> sale);

/// What an event of that name tells everywhere: "RESERVE" ...
OrderTermSet told_by(std::string_view event);
/// What an event of a reservation tells. `offered`: its item is known as it was then.
OrderTerms terms_of(const Event& event, bool offered);

/// Those that `right` tells and `row` does not say so.
OrderTermSet differing_terms(const OrderTerms& right, const OrderTerms& row);
/// "price 500, expires at 1764519289015": some of them.
std::string show_terms(const OrderTerms& terms, OrderTermSet which);

}  // namespace holdfast
