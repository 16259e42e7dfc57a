// The words of a command, parsed and checked. No state is looked at here: what comes out is well-formed, no more.
// Views point into the words. Any thread.
#pragma once

#include "protocol/command_table.h"
#include "server/limits.h"
#include "storage/limits.h"
#include "storage/record.h"

#include <optional>

namespace holdfast {

/// The longest time a reservation may be held: ten years. It keeps every deadline within a row's 40 bits.
inline constexpr Millis kHoldMax = std::chrono::hours(24) * 3650;
inline constexpr std::uint64_t kVersionMax = (std::uint64_t{1} << 63) - 1;
inline constexpr std::uint64_t kPageDefault = 10;
inline constexpr std::uint64_t kPageMax = 10'000;

struct ReserveRequest {
  ItemName item;
  UserId user;
  std::int64_t quantity = 1;
  std::optional<ReservationId> id{};
  std::optional<Millis> ttl{};
  bool details = false;
  bool token = false;  // a TOKEN was given
};

/// CONFIRM, RELEASE, REFUND, EXTEND.
struct VerbRequest {
  ItemName item;
  std::optional<UserId> user{};  // nothing: the owner of the id ("-")
  std::optional<ReservationId> id{};
  bool resume = false;
  bool write_off = false;
  Millis ttl{};
};

enum class Stage : std::uint8_t { applied, durable, done };

struct ReservationGetRequest {
  ItemName item;
  std::optional<ReservationId> id{};  // this or the user
  std::optional<UserId> user{};
};

struct ReservationListRequest {
  ItemName item;
  std::uint32_t cursor = 0;
  std::uint64_t count = kPageDefault;
  std::optional<ReservationState> state{};
};

struct ReservationWaitRequest {
  ItemName item;
  ReservationId id;
  Stage stage{};
  std::string_view sink;  // instead of a stage
  Millis timeout{};
};

struct LoadRequest {
  ItemName item;
  std::optional<ItemVersion> version{};
  ItemDefinition definition;
  bool create = false;
};

struct ItemListRequest {
  std::uint64_t cursor = 0;
  std::uint64_t count = kPageDefault;
  std::optional<std::string_view> pattern{};
  std::optional<ItemState> state{};
};

struct AdjustRequest {
  ItemName item;
  std::int64_t delta = 0;
  ReservationId id;
  std::string_view reason;
};

enum class SetField : std::uint8_t { limit, ttl, max_hold, opens_at, closes_at, price, currency };

struct ItemSetRequest {
  ItemName item;
  SetField field{};
  std::int64_t value = 0;     // all fields but currency
  std::string_view text;      // currency
  std::string_view expected;  // as it was written
};

/// A write to {item}:stock.
struct StockWrite {
  ItemName item;
  std::int64_t value = 0;                // the stock, or the difference
  bool only_new = false;                 // NX
  bool only_old = false;                 // XX
  std::optional<Millis> expires_in{};    // EX, PX
  std::optional<WallTime> expires_at{};  // EXAT, PXAT
};

Result<ReserveRequest> parse_reserve(Words words);
/// `verb`: confirm, release, refund or extend, which differ in the options they take.
Result<VerbRequest> parse_verb(CommandId verb, Words words);
Result<ReservationGetRequest> parse_reservation_get(Words words);
Result<ReservationListRequest> parse_reservation_list(Words words);
Result<ReservationWaitRequest> parse_reservation_wait(Words words);
Result<LoadRequest> parse_load(bool create, Words words);
Result<ItemListRequest> parse_item_list(Words words);
Result<AdjustRequest> parse_adjust(Words words);
Result<ItemSetRequest> parse_item_set(Words words);
struct ScanRequest {
  std::uint64_t cursor = 0;
  std::uint64_t count = kPageDefault;  // more than kPageMax is kPageMax: Redis's own tools ask for any number
  std::optional<std::string_view> pattern{};
  std::optional<std::string_view> type{};
};
Result<ScanRequest> parse_scan(Words words);
/// SET's words.
Result<StockWrite> parse_stock_set(ItemName item, Words words);
/// HOLD is true.
Result<bool> parse_returns(Words words);
/// UNFENCE's sequence.
Result<Sequence> parse_unfence(Words words);
/// DROP's CONFIRMED-TOO.
Result<bool> parse_drop(Words words);

/// What a key of the Redis view names. A key that is of neither kind is `foreign`, with no item.
enum class KeyKind : std::uint8_t { stock, buyers, foreign };
struct ViewKey {
  KeyKind kind = KeyKind::foreign;
  std::optional<ItemName> item{};
};
ViewKey parse_view_key(std::string_view key);
/// The key that parse_view_key reads as this: in braces, unless the name has braces itself. REQUIRES: not foreign.
std::string view_key_text(std::string_view item, KeyKind kind);

/// The number or name that ITEM SET's EXPECT compares with, as it stands in a definition.
std::string field_text(SetField field, const ItemDefinition& definition);
std::string_view field_name(SetField field) noexcept;

}  // namespace holdfast
