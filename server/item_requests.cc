// LOAD, CREATE, ITEM SET and the Redis view's SET: the words that make or change a definition.
#include "server/option_reader.h"
#include "server/requests.h"

#include <fmt/format.h>

#include <array>

namespace holdfast {
namespace {

constexpr auto kHoldWordMax = static_cast<std::uint64_t>(kHoldMax.count());
constexpr std::uint64_t kWallWordMax = std::uint64_t{1} << 52;  // Unix ms, far beyond any calendar

/// Bits of the options of LOAD, for OptionReader.
enum LoadOption : unsigned {
  version,
  stock,
  limit,
  scope,
  ttl,
  max_hold,
  opens_at,
  closes_at,
  price,
  currency,
  sale,
  product
};

std::string label(OptionReader& options, std::string_view name, std::size_t bytes_max) {
  const std::string_view text = options.value();
  if (text.size() > bytes_max) {
    options.fail(Error::format(ErrorCode::err, "{} has {} bytes; it has at most {}", name, text.size(), bytes_max));
    return {};
  }
  return std::string(text);
}

LimitScope scope_value(OptionReader& options) {
  const std::string_view word = options.value();
  if (equals_ignoring_case(word, "SALE")) return LimitScope::sale;
  if (!equals_ignoring_case(word, "ITEM")) {
    options.fail(Error::format(ErrorCode::err, "SCOPE must be item or sale, got '{}'", Echo(word).text()));
  }
  return LimitScope::item;
}

std::int64_t signed_number(OptionReader& options, std::uint64_t low, std::uint64_t high) {
  return static_cast<std::int64_t>(options.number(low, high));
}

/// Takes one option; false when the next word is none.
bool take_load_option(OptionReader& options, LoadRequest& request) {
  ItemDefinition& definition = request.definition;
  if (options.take("VERSION", version)) {
    request.version = ItemVersion(options.number(1, kVersionMax));
  } else if (options.take("STOCK", stock)) {
    definition.stock = signed_number(options, 0, kStockMax);
  } else if (options.take("LIMIT", limit)) {
    definition.limit = signed_number(options, 0, kStockMax);
  } else if (options.take("SCOPE", scope)) {
    definition.scope = scope_value(options);
  } else if (options.take("TTL", ttl)) {
    definition.ttl = Millis(options.number(1, kHoldWordMax));
  } else if (options.take("MAX-HOLD", max_hold)) {
    definition.max_hold = Millis(options.number(1, kHoldWordMax));
  } else if (options.take("OPENS-AT", opens_at)) {
    definition.opens_at = wall_time(signed_number(options, 0, kWallWordMax));
  } else if (options.take("CLOSES-AT", closes_at)) {
    definition.closes_at = wall_time(signed_number(options, 0, kWallWordMax));
  } else if (options.take("PRICE", price)) {
    definition.price = signed_number(options, 0, kStockMax);
  } else if (options.take("CURRENCY", currency)) {
    definition.currency = label(options, "CURRENCY", kCurrencyBytesMax);
  } else if (options.take("SALE", sale)) {
    definition.sale = label(options, "SALE", kLabelBytesMax);
  } else if (options.take("PRODUCT", product)) {
    definition.product = label(options, "PRODUCT", kLabelBytesMax);
  } else {
    return false;
  }
  return true;
}

/// The default of max-hold is three ttl; a max-hold below the default ttl shortens that.
void settle_hold_times(const OptionReader& options, ItemDefinition& definition) {
  if (!options.has(max_hold)) definition.max_hold = std::min(3 * definition.ttl, kHoldMax);
  if (!options.has(ttl)) definition.ttl = std::min(definition.ttl, definition.max_hold);
}

struct FieldEntry {
  SetField field;
  std::string_view name;
  std::uint64_t low;
  std::uint64_t high;
};

constexpr std::array<FieldEntry, 7> kFields = {{{SetField::limit, "LIMIT", 0, kStockMax},
                                                {SetField::ttl, "TTL", 1, kHoldWordMax},
                                                {SetField::max_hold, "MAX-HOLD", 1, kHoldWordMax},
                                                {SetField::opens_at, "OPENS-AT", 0, kWallWordMax},
                                                {SetField::closes_at, "CLOSES-AT", 0, kWallWordMax},
                                                {SetField::price, "PRICE", 0, kStockMax},
                                                {SetField::currency, "CURRENCY", 0, 0}}};

constexpr std::string_view kBadExpire = "invalid expire time in 'set' command";
constexpr std::string_view kNotInteger = "value is not an integer or out of range";

/// The value of EX, PX, EXAT or PXAT in milliseconds.
std::int64_t expire_value(OptionReader& options, std::int64_t unit_ms) {
  std::int64_t number = 0;
  if (!parse_integer(options.value(), number)) {
    options.fail(Error(ErrorCode::err, kNotInteger));
  } else if (number <= 0 || number > static_cast<std::int64_t>(kWallWordMax) / unit_ms) {
    options.fail(Error(ErrorCode::err, kBadExpire));
  }
  return options.failed() ? 0 : number * unit_ms;
}

}  // namespace

Result<LoadRequest> parse_load(bool create, Words words) {
  const auto item = ItemName::parse(words[2]);
  if (!item) return item.error();
  LoadRequest request{*item, {}, {}, create};
  OptionReader options(words, 3);
  while (!options.at_end() && !options.failed()) {
    if (!take_load_option(options, request)) options.unknown();
  }
  if (options.failed()) return options.error();
  if (!options.has(stock)) return Error(ErrorCode::err, "STOCK is missing");
  if (!create && !request.version) return Error(ErrorCode::err, "VERSION is missing");
  settle_hold_times(options, request.definition);
  if (request.definition.ttl > request.definition.max_hold) {
    return Error::format(ErrorCode::err, "TTL {} is above MAX-HOLD {}", request.definition.ttl.count(),
                         request.definition.max_hold.count());
  }
  if (request.definition.scope == LimitScope::sale && item->hash_tag().empty()) {
    return Error(ErrorCode::err, "SCOPE sale needs a hash tag in the item's name, as in {sale:77}item:1001");
  }
  return request;
}

Result<ItemSetRequest> parse_item_set(Words words) {
  const auto item = ItemName::parse(words[2]);
  if (!item) return item.error();
  if (!equals_ignoring_case(words[5], "EXPECT")) {
    return Error::format(ErrorCode::err, "expected EXPECT, got '{}'", Echo(words[5]).text());
  }
  for (const FieldEntry& entry : kFields) {
    if (!equals_ignoring_case(words[3], entry.name)) continue;
    ItemSetRequest request{*item, entry.field, 0, words[4], words[6]};
    if (entry.field == SetField::currency) {
      if (words[4].size() <= kCurrencyBytesMax) return request;
      return Error::format(ErrorCode::err, "CURRENCY has {} bytes; it has at most {}", words[4].size(),
                           kCurrencyBytesMax);
    }
    std::uint64_t value = 0;
    if (!parse_canonical(words[4], entry.high, value) || value < entry.low) {
      return Error::format(ErrorCode::err, "{} must be a number from {} to {}, got '{}'", entry.name, entry.low,
                           entry.high, Echo(words[4]).text());
    }
    request.value = static_cast<std::int64_t>(value);
    return request;
  }
  return Error::format(ErrorCode::err,
                       "unknown field '{}': LIMIT, TTL, MAX-HOLD, OPENS-AT, CLOSES-AT, PRICE or CURRENCY",
                       Echo(words[3]).text());
}

std::string field_text(SetField field, const ItemDefinition& definition) {
  switch (field) {
    case SetField::limit:
      return fmt::to_string(definition.limit);
    case SetField::ttl:
      return fmt::to_string(definition.ttl.count());
    case SetField::max_hold:
      return fmt::to_string(definition.max_hold.count());
    case SetField::opens_at:
      return fmt::to_string(to_ms(definition.opens_at));
    case SetField::closes_at:
      return fmt::to_string(to_ms(definition.closes_at));
    case SetField::price:
      return fmt::to_string(definition.price);
    case SetField::currency:
      return definition.currency;
  }
  return {};
}

std::string_view field_name(SetField field) noexcept { return kFields[static_cast<std::size_t>(field)].name; }

Result<StockWrite> parse_stock_set(ItemName item, Words words) {
  StockWrite write{item};
  OptionReader options(words, 3);
  constexpr unsigned kExpire = 2;  // one of the four, once
  while (!options.at_end() && !options.failed()) {
    if (options.take("NX", 0)) {
      write.only_new = true;
    } else if (options.take("XX", 1)) {
      write.only_old = true;
    } else if (options.take("EX", kExpire)) {
      write.expires_in = Millis(expire_value(options, 1000));
    } else if (options.take("PX", kExpire)) {
      write.expires_in = Millis(expire_value(options, 1));
    } else if (options.take("EXAT", kExpire)) {
      write.expires_at = wall_time(expire_value(options, 1000));
    } else if (options.take("PXAT", kExpire)) {
      write.expires_at = wall_time(expire_value(options, 1));
    } else {
      return Error(ErrorCode::err, "syntax error");
    }
  }
  if (options.failed()) return options.error();
  if (write.only_new && write.only_old) return Error(ErrorCode::err, "syntax error");
  std::uint64_t stock = 0;
  if (!parse_canonical(words[2], kStockMax, stock)) return Error(ErrorCode::err, kNotInteger);
  write.value = static_cast<std::int64_t>(stock);
  return write;
}

}  // namespace holdfast
