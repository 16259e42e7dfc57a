#include "tools/kafka_property.h"

#include <fstream>

#include "tests/doctest.h"

using namespace holdfast;

namespace {

std::string refusal(std::string_view text) {
  const auto parsed = parse_kafka_property(text);
  if (parsed) return "";
  CHECK(parsed.error().code() == ErrorCode::bad_option);
  return std::string(parsed.error().text());
}

}  // namespace

TEST_CASE("kafka_property: a name, and what is behind the first equals sign") {
  const auto parsed = parse_kafka_property("ssl.ca.location=/a=b");
  REQUIRE(parsed.has_value());
  CHECK(parsed->name == "ssl.ca.location");
  CHECK(parsed->value == "/a=b");
  CHECK(parse_kafka_property("client.id=")->value.empty());
  for (const char* const wrong : {"", "=", "=x", "acks"})
    CHECK(refusal(wrong).find("is not NAME=VALUE") != std::string::npos);
  for (const char* const own : {"message.timeout.ms=1", "delivery.timeout.ms=1"})
    CHECK(refusal(own).find("is not free to choose") != std::string::npos);
  CHECK(refusal("acks=1").find("acks is not free to choose") != std::string::npos);
}

TEST_CASE("kafka_property: a secret comes from a file, and is never repeated") {
  std::ofstream("kafka-secret") << "s3cret\nsecond line\n";
  CHECK(parse_kafka_property("sasl.password=@kafka-secret")->value == "s3cret");
  const std::string said = refusal("sasl.password=s3cret");
  CHECK(said.find("sasl.password=@FILE") != std::string::npos);
  CHECK(said.find("s3cret") == std::string::npos);
  CHECK(refusal("ssl.key.password=@missing").find("--kafka-property ssl.key.password: cannot read missing") !=
        std::string::npos);
  CHECK(refusal("ssl.key.pem=@kafka-secret").find("ssl.key.location=FILE") != std::string::npos);
  CHECK(parse_kafka_property("sasl.username=@kafka-secret")->value == "@kafka-secret");
}

TEST_CASE("kafka_property: orders, events and the cursor have a topic each, or orders none") {
  CHECK(check_kafka_topic_names("o", "e", "c").has_value());
  CHECK(check_kafka_topic_names("", "e", "c").has_value());
  for (const auto& [orders, events, cursor] : std::initializer_list<std::array<const char*, 3>>{{"e", "e", "c"},
                                                                                                {"o", "o", "o"},
                                                                                                {"c", "e", "c"},
                                                                                                {"o", "c", "c"},
                                                                                                {"o", "", "c"},
                                                                                                {"o", "e", ""},
                                                                                                {"", "", "c"}}) {
    CHECK_FALSE(check_kafka_topic_names(orders, events, cursor).has_value());
  }
}
