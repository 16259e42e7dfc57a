// The steps of the Redis view: {item}:stock reads as a counter, {item}:buyers as a set.
#include "server/glob.h"
#include "server/option_reader.h"
#include "server/replies.h"
#include "server/view_keys.h"

#include <fmt/format.h>

#include <algorithm>

namespace holdfast {
namespace {

constexpr std::uint64_t kMembersMax = 10'000;     // that SMEMBERS answers
constexpr std::uint64_t kRowsLookedAtMin = 1024;  // by one SSCAN, whatever its COUNT
constexpr std::string_view kNotInteger = "value is not an integer or out of range";

/// The buyers of word 1; nothing when there are none and `answer_none` has answered, or the key is of another type.
template <class AnswerNone>
Item* buyers_of(StepContext& context, AnswerNone answer_none) {
  const KeyedItem key = look_up_key(context, context.words[1]);
  if (key.kind == KeyKind::stock && key.item != nullptr) return refuse_wrong_type(context), nullptr;
  if (!key_exists(key)) return answer_none(), nullptr;
  return key.item;
}

void add_stock(StepContext& context, std::int64_t delta) {
  const ViewKey key = parse_view_key(context.words[1]);
  if (key.kind != KeyKind::stock) {
    const KeyedItem buyers = look_up_key(context, context.words[1]);
    return key_exists(buyers) ? refuse_wrong_type(context) : refuse_foreign_key(context, context.words[1]);
  }
  Item* item = context.find(*key.item);
  if (item == nullptr) return;
  const auto added = context.inventory.add_stock(*item, delta, context.now);
  context.rest_on(*item);
  if (!added) return context.fail(added.error());
  context.reply.integer(item->counters.available);
}

void add_word(StepContext& context, bool negative) {
  std::int64_t number = 0;
  if (!parse_integer(context.words[2], number) || number == INT64_MIN) {
    return context.fail(Error(ErrorCode::err, kNotInteger));
  }
  add_stock(context, negative ? -number : number);
}

}  // namespace

void step_get(StepContext& context) {
  const KeyedItem key = look_up_key(context, context.words[1]);
  if (!key_exists(key)) return context.reply.null();
  if (key.kind == KeyKind::buyers) return refuse_wrong_type(context);
  context.reply.bulk(fmt::format_int(key.item->counters.available).c_str());
}

void step_set(StepContext& context) {
  const auto outcome = write_stock_key(context, context.words);
  if (!outcome) return;
  if (*outcome == Inventory::StockOutcome::not_written) return context.reply.null();
  context.reply.status("OK");
}

void step_incrby(StepContext& context) { add_word(context, false); }
void step_decrby(StepContext& context) { add_word(context, true); }
void step_incr(StepContext& context) { add_stock(context, 1); }
void step_decr(StepContext& context) { add_stock(context, -1); }

void step_exists(StepContext& context) {
  std::int64_t count = 0;
  for (const auto word : context.words.subspan(1)) count += key_exists(look_up_key(context, word)) ? 1 : 0;
  context.rest_on_all();
  context.reply.integer(count);
}

void step_type(StepContext& context) {
  const KeyedItem key = look_up_key(context, context.words[1]);
  context.reply.status(!key_exists(key) ? "none" : key.kind == KeyKind::stock ? "string" : "set");
}

/// All or nothing: no item is dropped while one of them may not be.
void step_del(StepContext& context) {
  const Words keys = context.words.subspan(1);
  for (const auto word : keys) {
    const KeyedItem key = look_up_key(context, word);
    if (key.item == nullptr) continue;
    const auto allowed = context.inventory.may_delete(*key.item, context.now);
    context.rest_on_all();
    if (!allowed) return context.fail(allowed.error());
  }
  std::int64_t dropped = 0;
  for (const auto word : keys) {
    const KeyedItem key = look_up_key(context, word);
    if (key.item == nullptr) continue;
    if (const auto result = context.inventory.drop(*key.item, false, context.now); !result) {
      context.rest_on_all();
      return context.fail(result.error());
    }
    ++dropped;
  }
  context.rest_on_all();
  context.reply.integer(dropped);
}

void step_sismember(StepContext& context) {
  Item* item = buyers_of(context, [&] { context.reply.integer(0); });
  if (item == nullptr) return;
  const auto user = UserId::parse(context.words[2]);
  if (!user) return context.reply.integer(0);
  if (item->rows->find_user(*user).reserved > 0) {  // exact also when what he has is just due
    static_cast<void>(context.inventory.look_up(*item, *user, context.now));
    context.rest_on(*item);
  }
  context.reply.integer(item->rows->find_user(*user).live() > 0 ? 1 : 0);
}

void step_scard(StepContext& context) {
  const Item* item = buyers_of(context, [&] { context.reply.integer(0); });
  if (item != nullptr) context.reply.integer(static_cast<std::int64_t>(item->rows->live_users()));
}

void step_smembers(StepContext& context) {
  const Item* item = buyers_of(context, [&] { context.reply.set(0); });
  if (item == nullptr) return;
  const std::uint64_t count = item->rows->live_users();
  if (count > kMembersMax) {
    return context.fail(
        Error::format(ErrorCode::err, "{} buyers are more than {} in one reply; use SSCAN", count, kMembersMax));
  }
  context.reply.set(count);
  for (std::uint32_t slot = 0; slot < item->rows->slots_end(); ++slot) {
    if (item->rows->represents_user(RowSlot(slot))) context.reply.bulk(item->rows->user(RowSlot(slot)).text());
  }
}

/// As Redis's SSCAN: a user that stays a buyer is shown at least once; one with several reservations may come twice.
void step_sscan(StepContext& context) {
  std::uint64_t cursor = 0;
  if (!parse_canonical(context.words[2], UINT32_MAX, cursor))
    return context.fail(Error(ErrorCode::err, "invalid cursor"));
  std::uint64_t count = kPageDefault;
  std::optional<std::string_view> pattern;
  OptionReader options(context.words, 3);
  while (!options.at_end() && !options.failed()) {
    if (options.take("COUNT", 0)) {
      count = options.number(1, kPageMax);
    } else if (options.take("MATCH", 1)) {
      pattern = options.value();
      if (pattern->size() > kPatternBytesMax)
        options.fail(Error(ErrorCode::err, "MATCH pattern has more than 128 bytes"));
    } else {
      options.fail(Error(ErrorCode::err, "syntax error"));
    }
  }
  if (options.failed()) return context.fail(options.error());
  std::vector<std::string> found;
  const Item* item = buyers_of(context, [&] {
    context.reply.array(2);
    context.reply.bulk("0");
    context.reply.array(0);
  });
  if (item == nullptr) return;
  const std::uint64_t end = item->rows->slots_end();
  const std::uint64_t look_at_end = cursor + std::max(count, kRowsLookedAtMin);
  for (; cursor < end && cursor < look_at_end && found.size() < count; ++cursor) {
    const RowSlot slot(static_cast<std::uint32_t>(cursor));
    if (!item->rows->row(slot).live()) continue;
    std::string user = item->rows->user(slot).text();
    if (!pattern || glob_matches(*pattern, user)) found.push_back(std::move(user));
  }
  context.reply.array(2);
  context.reply.bulk(fmt::format_int(cursor < end ? cursor : 0).c_str());
  context.reply.array(found.size());
  for (const auto& user : found) context.reply.bulk(user);
}

void step_dbsize(StepContext& context) {
  context.reply.integer(static_cast<std::int64_t>(context.inventory.item_count()));
  context.rest_on_all();
}

}  // namespace holdfast
