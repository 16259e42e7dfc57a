#include "server/router.h"

#include "protocol/check.h"
#include "protocol/command_keys.h"
#include "server/requests.h"

namespace holdfast {
namespace {

constexpr std::string_view kAllItems = "*";

}  // namespace

Router::Router(std::uint16_t count) : count_(count) {
  CHECK(count >= 1 && count <= kSlots);
  for (const CommandEntry& entry : command_table()) ways_[static_cast<std::size_t>(entry.id)] = way_of(entry);
}

Router::Way Router::way_of(const CommandEntry& entry) {
  switch (entry.id) {
    case CommandId::dbsize:
      return {Rule::all};
    case CommandId::item_list:
      return {Rule::list_cursor};
    case CommandId::scan:
      return {Rule::scan_cursor, 1};
    case CommandId::item_returns:
    case CommandId::item_verify:
      return {Rule::item_or_all, 2};
    case CommandId::mset:
    case CommandId::msetnx:
      return {Rule::key, 1};  // several are refused, by whichever shard is asked
    case CommandId::watch:
    case CommandId::exec:
      return {Rule::message_item, 1};
    case CommandId::subscribe:
      return {Rule::message_cursor, 1};
    default:
      break;
  }
  if (entry.home == CommandHome::session) return {};
  const KeySpec spec = key_spec(entry);
  CHECK(spec.first > 0 && (!spec.many || spec.step == 1));
  const Rule rule = spec.many ? Rule::keys : spec.view ? Rule::key : Rule::item;
  return {rule, static_cast<std::uint8_t>(spec.first)};
}

ShardIndex Router::owner_of(std::string_view argument, bool view) const {
  if (view) {
    const ViewKey key = parse_view_key(argument);
    return key.item ? owner(*key.item) : ShardIndex();
  }
  const auto item = ItemName::parse(argument);
  return item ? owner(*item) : ShardIndex();
}

Route Router::route_among(const CommandEntry& entry, Words words) const {
  const auto [rule, at] = ways_[static_cast<std::size_t>(entry.id)];
  switch (rule) {
    case Rule::none:
      break;
    case Rule::item_or_all:
      if (words[at] == kAllItems) return {Route::Kind::all, {}};
      [[fallthrough]];
    case Rule::item:
      return {Route::Kind::one, owner_of(words[at], false)};
    case Rule::key:
      return {Route::Kind::one, owner_of(words[at], true)};
    case Rule::keys:
      return route_keys(words.subspan(at));
    case Rule::all:
      return {Route::Kind::all, {}};
    case Rule::list_cursor: {
      const auto request = parse_item_list(words);
      return {Route::Kind::one, request ? owner_of_cursor(request->cursor) : ShardIndex()};
    }
    case Rule::message_item:
      if (words[at].empty()) return {};
      return {Route::Kind::one, owner(ItemName::from_stored(words[at]))};
    case Rule::scan_cursor:
    case Rule::message_cursor:
      return route_cursor(words[at]);
  }
  CHECK(false);
}

Route Router::route_keys(Words keys) const {
  const ShardIndex first = owner_of(keys[0], true);
  for (const std::string_view key : keys.subspan(1)) {
    if (owner_of(key, true) != first) return {Route::Kind::several, {}};
  }
  return {Route::Kind::one, first};
}

/// What is no number is refused by the step of the first shard.
Route Router::route_cursor(std::string_view number) const {
  std::uint64_t cursor = 0;
  if (!parse_canonical(number, UINT64_MAX, cursor)) return {};
  return {Route::Kind::one, owner_of_cursor(cursor)};
}

}  // namespace holdfast
