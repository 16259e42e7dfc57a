// The steps of commands about keys of the Redis view, whatever kind they are: SCAN, the end of a sale as a time to live,
// memory, encoding.
#include "server/glob.h"
#include "server/view_keys.h"

#include <fmt/format.h>

namespace holdfast {
namespace {

constexpr std::int64_t kNoKey = -2;
constexpr std::int64_t kNoEnd = -1;
constexpr std::uint64_t kItemsLookedAtMin = 1024;  // by one SCAN with a filter, whatever its COUNT
constexpr std::string_view kNotInteger = "value is not an integer or out of range";

std::int64_t to_seconds(std::int64_t ms) noexcept { return (ms + 500) / 1000; }

/// closes-at of the key in word 1 while it is ahead; else what TTL answers instead.
struct SaleEnd {
  std::int64_t instead = 0;
  WallTime at;
};

SaleEnd sale_end(StepContext& context) {
  const KeyedItem key = look_up_key(context, context.words[1]);
  if (!key_exists(key)) return {kNoKey, {}};
  const WallTime closes_at = key.item->definition.closes_at;
  const bool ahead = closes_at > context.now.wall && key.item->state != ItemState::closed;
  return key.kind == KeyKind::stock && ahead ? SaleEnd{0, closes_at} : SaleEnd{kNoEnd, {}};
}

/// `word`: of the time, 0 for none.
void refuse_expiry(StepContext& context, std::size_t word) {
  std::int64_t time = 0;
  if (word > 0 && !parse_integer(context.words[word], time)) return context.fail(Error(ErrorCode::err, kNotInteger));
  if (!key_exists(look_up_key(context, context.words[1]))) return context.reply.integer(0);
  context.fail(
      Error(ErrorCode::err, "keys of an item have no expiry; ITEM SET item CLOSES-AT moves the end of its sale"));
}

bool is_type(std::string_view wanted, std::string_view upper) { return equals_ignoring_case(wanted, upper); }

}  // namespace

void step_unlink(StepContext& context) { step_del(context); }
void step_touch(StepContext& context) { step_exists(context); }

void step_pttl(StepContext& context) {
  const SaleEnd end = sale_end(context);
  context.reply.integer(end.instead != 0 ? end.instead : (end.at - context.now.wall).count());
}

void step_ttl(StepContext& context) {
  const SaleEnd end = sale_end(context);
  context.reply.integer(end.instead != 0 ? end.instead : to_seconds((end.at - context.now.wall).count()));
}

void step_pexpiretime(StepContext& context) {
  const SaleEnd end = sale_end(context);
  context.reply.integer(end.instead != 0 ? end.instead : to_ms(end.at));
}

void step_expiretime(StepContext& context) {
  const SaleEnd end = sale_end(context);
  context.reply.integer(end.instead != 0 ? end.instead : to_seconds(to_ms(end.at)));
}

void step_expire(StepContext& context) { refuse_expiry(context, 2); }
void step_pexpire(StepContext& context) { refuse_expiry(context, 2); }
void step_expireat(StepContext& context) { refuse_expiry(context, 2); }
void step_pexpireat(StepContext& context) { refuse_expiry(context, 2); }
void step_persist(StepContext& context) { refuse_expiry(context, 0); }

void step_memory_usage(StepContext& context) {
  if (context.words.size() > 3) {
    std::int64_t samples = 0;
    const bool fits = context.words.size() == 5 && equals_ignoring_case(context.words[3], "SAMPLES");
    if (!fits) return context.fail(Error(ErrorCode::err, "syntax error"));
    if (!parse_integer(context.words[4], samples)) return context.fail(Error(ErrorCode::err, kNotInteger));
    if (samples < 0) return context.fail(Error(ErrorCode::err, "syntax error"));
  }
  const KeyedItem key = look_up_key(context, context.words[2]);
  if (!key_exists(key)) return context.reply.null();
  const ItemRows& rows = *key.item->rows;
  const std::size_t item_bytes = sizeof(Item) + sizeof(ItemRows) + sizeof(NamedItem) + key.item->named->name.capacity();
  context.reply.integer(
      static_cast<std::int64_t>(key.kind == KeyKind::stock ? item_bytes : rows.row_bytes() + rows.directory_bytes()));
}

void step_object_encoding(StepContext& context) {
  const KeyedItem key = look_up_key(context, context.words[2]);
  if (!key_exists(key)) return context.reply.null();
  context.reply.bulk(key.kind == KeyKind::stock ? "int" : "hashtable");
}

/// The cursor goes by the place of an item, so that its keys come together and each once; COUNT is of items.
void step_scan(StepContext& context) {
  const auto request = parse_scan(context.words);
  if (!request) return context.fail(request.error());
  const bool stocks = !request->type || is_type(*request->type, "STRING");
  const bool buyers = !request->type || is_type(*request->type, "SET");
  std::vector<std::string> found;
  const auto offer = [&](const Item& item, KeyKind kind) {
    std::string key = view_key_text(item.named->name, kind);
    if (!request->pattern || glob_matches(*request->pattern, key)) found.push_back(std::move(key));
  };
  const ShardPlace& place = context.inventory.place();
  std::uint64_t position = place.position(request->cursor);
  const std::uint64_t end = context.inventory.positions_end();
  const std::uint64_t look_at_max = std::max(request->count, kItemsLookedAtMin);
  for (std::uint64_t looked_at = 0; position < end && looked_at < look_at_max && found.size() < request->count;
       ++position, ++looked_at) {
    const Item* item = context.inventory.at_position(position, context.now);
    if (item == nullptr) continue;
    if (stocks) offer(*item, KeyKind::stock);
    if (buyers && item->rows->live_users() > 0) offer(*item, KeyKind::buyers);
  }
  context.rest_on_all();
  context.reply.array(2);
  context.reply.bulk(fmt::format_int(place.cursor(position, end)).c_str());
  context.reply.array(found.size());
  for (const std::string& key : found) context.reply.bulk(key);
}

}  // namespace holdfast
