// What well-formed words mean; malformed ones are in tests/transcripts/malformed.txt.
#include "server/requests.h"

#include "tests/unit/server/step_bench.h"

#include "tests/doctest.h"

using namespace holdfast;

namespace {

/// The words of a line, and views of them.
struct Line {
  explicit Line(std::string_view line) : texts(testing::split_words(line)), words(texts.begin(), texts.end()) {}
  operator Words() const { return words; }  // NOLINT(google-explicit-constructor)
  std::vector<std::string> texts;
  std::vector<std::string_view> words;
};

constexpr const char* kId = "0192f0c1-2345-7abc-8def-0123456789ab";

}  // namespace

TEST_CASE("requests: RESERVE's options in any order") {
  const Line line(std::string("RESERVE {item:1} u details ttl 5000 TOKEN t id ") + kId + " QTY 3");
  const auto request = parse_reserve(line).value();
  CHECK(request.item.bytes() == "item:1");
  CHECK(request.user.text() == "u");
  CHECK(request.quantity == 3);
  CHECK(request.id == ReservationId::parse(kId).value());
  CHECK(request.ttl == Millis(5000));
  CHECK(request.details);
  const Line least("RESERVE i u");
  const auto plain = parse_reserve(least).value();
  CHECK(plain.quantity == 1);
  CHECK(!plain.id);
  CHECK(!plain.ttl);
  CHECK(!plain.details);
}

TEST_CASE("requests: the verbs take each its own options") {
  const std::string id = std::string(" ID ") + kId;
  const auto confirm = parse_verb(CommandId::confirm, Line("CONFIRM i u RESUME" + id));
  CHECK(confirm->resume);
  CHECK(confirm->id.has_value());
  CHECK(parse_verb(CommandId::release, Line("RELEASE i u WRITEOFF"))->write_off);
  CHECK(parse_verb(CommandId::refund, Line("REFUND i u WRITEOFF" + id))->write_off);
  CHECK(parse_verb(CommandId::extend, Line("EXTEND i u TTL 9"))->ttl == Millis(9));
  CHECK(!parse_verb(CommandId::confirm, Line("CONFIRM i -" + id))->user.has_value());
  CHECK(!parse_verb(CommandId::confirm, Line("CONFIRM i -")));
  CHECK(!parse_verb(CommandId::extend, Line("EXTEND i u RESUME" + id)));
}

TEST_CASE("requests: LOAD's defaults, and how ttl and max-hold settle each other") {
  const auto load = [](const std::string& options) {
    const Line line("ITEM CREATE i STOCK 5" + options);
    return parse_load(true, line)->definition;
  };
  const ItemDefinition plain = load("");
  CHECK(plain.stock == 5);
  CHECK(plain.limit == 1);
  CHECK(plain.scope == LimitScope::item);
  CHECK(plain.ttl == std::chrono::minutes(10));
  CHECK(plain.max_hold == std::chrono::minutes(30));
  CHECK(load(" TTL 1000").max_hold == Millis(3000));
  CHECK(load(" MAX-HOLD 1000").ttl == Millis(1000));
  CHECK(load(" TTL " + std::to_string(kHoldMax.count())).max_hold == kHoldMax);
  CHECK(load(" TTL 5 MAX-HOLD 5").ttl == Millis(5));
}

TEST_CASE("requests: keys of the Redis view") {
  const auto key = [](std::string_view text) {
    const ViewKey parsed = parse_view_key(text);
    const std::string kind = parsed.kind == KeyKind::stock    ? "stock "
                             : parsed.kind == KeyKind::buyers ? "buyers "
                                                              : "foreign";
    return kind + std::string(parsed.item ? parsed.item->bytes() : std::string_view());
  };
  CHECK(key("{item:1}:stock") == "stock item:1");
  CHECK(key("item:1:stock") == "stock item:1");
  CHECK(key("{sale:7}item:1:buyers") == "buyers {sale:7}item:1");
  CHECK(key("a:stock:buyers") == "buyers a:stock");
  for (const std::string_view foreign : {"", ":stock", ":buyers", "{}:stock", "a", "a:STOCK", "a:stock ", "stock"}) {
    CHECK(key(foreign) == "foreign");
  }
  CHECK(key(std::string(128, 'n') + ":stock") == "stock " + std::string(128, 'n'));
  CHECK(key(std::string(129, 'n') + ":stock") == "foreign");
}

TEST_CASE("requests: ITEM SET's fields read back as they are expected") {
  ItemDefinition definition;
  definition.limit = 7;
  definition.currency = "EUR";
  definition.closes_at = wall_time(12);
  CHECK(field_text(SetField::limit, definition) == "7");
  CHECK(field_text(SetField::ttl, definition) == "600000");
  CHECK(field_text(SetField::max_hold, definition) == "1800000");
  CHECK(field_text(SetField::opens_at, definition) == "0");
  CHECK(field_text(SetField::closes_at, definition) == "12");
  CHECK(field_text(SetField::price, definition) == "0");
  CHECK(field_text(SetField::currency, definition) == "EUR");
  CHECK(field_name(SetField::currency) == "CURRENCY");
}

TEST_CASE("requests: SET's times are relative or absolute, in seconds or milliseconds") {
  const auto set = [](const std::string& options) {
    const Line line("SET {i}:stock 5" + options);
    return parse_stock_set(ItemName::from_stored("i"), line);
  };
  CHECK(set(" EX 7")->expires_in == Millis(7000));
  CHECK(set(" px 7 nx")->expires_in == Millis(7));
  CHECK(set(" px 7 nx")->only_new);
  CHECK(set(" EXAT 7")->expires_at == wall_time(7000));
  CHECK(set(" PXAT 7 XX")->expires_at == wall_time(7));
  CHECK(set("")->value == 5);
  CHECK(!set(" EX 9223372036854775807"));
  CHECK(!set(" EX"));
}
