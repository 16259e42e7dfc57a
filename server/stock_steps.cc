// The steps of what else Redis has for strings and sets, on {item}:stock and {item}:buyers: other forms of GET and SET, and
// writes that say why they cannot be.
#include "server/view_keys.h"

#include <fmt/format.h>

namespace holdfast {
namespace {

constexpr std::string_view kNotInteger = "value is not an integer or out of range";

std::string stock_text(const Item& item) { return fmt::format_int(item.counters.available).str(); }

/// The key and value of MSET and MSETNX; false when an error has been written.
bool is_one_pair(StepContext& context, std::string_view command) {
  if (context.words.size() % 2 == 0) {
    context.fail(Error::format(ErrorCode::err, "wrong number of arguments for '{}' command", command));
    return false;
  }
  if (context.words.size() == 3) return true;
  context.fail(Error(ErrorCode::err, "several items are not set in one step; send a SET for each, in a pipeline"));
  return false;
}

void set_if_new(StepContext& context) {
  const std::string_view words[] = {"SET", context.words[1], context.words[2], "NX"};
  const auto outcome = write_stock_key(context, words);
  if (outcome) context.reply.integer(*outcome == Inventory::StockOutcome::written ? 1 : 0);
}

/// SETEX and PSETEX: SET with `option`.
void set_until(StepContext& context, std::string_view option, std::string_view command) {
  std::int64_t time = 0;
  if (!parse_integer(context.words[2], time)) return context.fail(Error(ErrorCode::err, kNotInteger));
  if (time < 1) return context.fail(Error::format(ErrorCode::err, "invalid expire time in '{}' command", command));
  const std::string_view words[] = {"SET", context.words[1], context.words[3], option, context.words[2]};
  if (write_stock_key(context, words)) context.reply.status("OK");
}

/// SADD and SREM.
void refuse_buyers(StepContext& context, std::string_view instead) {
  const ViewKey key = parse_view_key(context.words[1]);
  if (key.kind == KeyKind::foreign) return refuse_foreign_key(context, context.words[1]);
  if (key.kind == KeyKind::stock && look_up_key(context, context.words[1]).item != nullptr) {
    return refuse_wrong_type(context);
  }
  context.fail(Error::format(ErrorCode::err, "buyers are those with a live reservation; use {}", instead));
}

}  // namespace

void step_mget(StepContext& context) {
  context.reply.array(context.words.size() - 1);
  for (const auto word : context.words.subspan(1)) {
    const KeyedItem key = look_up_key(context, word);
    if (key.item != nullptr && key.kind == KeyKind::stock) {
      context.reply.bulk(stock_text(*key.item));
    } else {
      context.reply.null();
    }
  }
  context.rest_on_all();
}

void step_strlen(StepContext& context) {
  const KeyedItem key = look_up_key(context, context.words[1]);
  if (!key_exists(key)) return context.reply.integer(0);
  if (key.kind == KeyKind::buyers) return refuse_wrong_type(context);
  context.reply.integer(static_cast<std::int64_t>(stock_text(*key.item).size()));
}

void step_mset(StepContext& context) {
  if (!is_one_pair(context, "mset")) return;
  if (write_stock_key(context, context.words)) context.reply.status("OK");
}

void step_msetnx(StepContext& context) {
  if (is_one_pair(context, "msetnx")) set_if_new(context);
}

void step_setnx(StepContext& context) { set_if_new(context); }
void step_setex(StepContext& context) { set_until(context, "EX", "setex"); }
void step_psetex(StepContext& context) { set_until(context, "PX", "psetex"); }

void step_getset(StepContext& context) {
  const KeyedItem key = look_up_key(context, context.words[1]);
  const bool is_stock = key.item != nullptr && key.kind == KeyKind::stock;
  const std::optional<std::string> before = is_stock ? std::optional(stock_text(*key.item)) : std::nullopt;
  if (!write_stock_key(context, context.words)) return;
  if (!before) return context.reply.null();
  context.reply.bulk(*before);
}

void step_getex(StepContext& context) {
  if (context.words.size() == 2) return step_get(context);
  context.fail(Error(ErrorCode::err, "GETEX takes no options here; ITEM SET item CLOSES-AT moves the end of a sale"));
}

void step_append(StepContext& context) {
  const KeyedItem key = look_up_key(context, context.words[1]);
  if (key.kind == KeyKind::foreign) return refuse_foreign_key(context, context.words[1]);
  if (key.kind == KeyKind::buyers) return refuse_wrong_type(context);
  context.fail(Error(ErrorCode::err, "a stock is a number and takes no text; use SET or INCRBY"));
}

void step_sadd(StepContext& context) { refuse_buyers(context, "RESERVE"); }
void step_srem(StepContext& context) { refuse_buyers(context, "RELEASE"); }

}  // namespace holdfast
