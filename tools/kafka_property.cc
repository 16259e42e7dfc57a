#include "tools/kafka_property.h"

#include "tools/credentials.h"

#include <algorithm>
#include <array>

namespace holdfast {
namespace {

constexpr std::array<std::string_view, 5> kSecrets = {"sasl.oauthbearer.client.secret", "sasl.oauthbearer.config",
                                                      "sasl.password", "ssl.key.password", "ssl.keystore.password"};
constexpr std::string_view kKeyText = "ssl.key.pem";

}  // namespace

Result<KafkaProperty> parse_kafka_property(std::string_view text) {
  const std::size_t equals = text.find('=');
  const std::string name(text.substr(0, equals));
  if (equals == std::string_view::npos || equals == 0) {
    return Error::format(ErrorCode::bad_option, "--kafka-property: '{}' is not NAME=VALUE", Echo(name).text());
  }
  if (!kafka_property_is_free(name)) {
    return Error::format(ErrorCode::bad_option,
                         "--kafka-property: {} is not free to choose: exactly once and in order rest on it", name);
  }
  const std::string value(text.substr(equals + 1));
  if (name == kKeyText) {
    return Error::format(ErrorCode::bad_option,
                         "--kafka-property: {} is a secret of several lines: say ssl.key.location=FILE", name);
  }
  if (std::find(kSecrets.begin(), kSecrets.end(), name) == kSecrets.end()) return KafkaProperty{name, value};
  if (!value.starts_with('@')) {
    return Error::format(
        ErrorCode::bad_option,
        "--kafka-property: {} is a secret, which others could read here: give a file that holds it, {}=@FILE", name,
        name);
  }
  auto secret = read_secret("--kafka-property " + name, value.substr(1));
  if (!secret) return secret.error();
  return KafkaProperty{name, std::move(*secret)};
}

Result<void> add_kafka_properties(const std::vector<std::string>& texts, std::vector<KafkaProperty>& to) {
  for (const std::string& text : texts) {
    auto property = parse_kafka_property(text);
    if (!property) return property.error();
    to.push_back(std::move(*property));
  }
  return {};
}

Result<void> check_kafka_topic_names(std::string_view orders, std::string_view events, std::string_view cursor) {
  const bool distinct = orders != events && events != cursor && orders != cursor;
  if (distinct && !events.empty() && !cursor.empty()) return {};
  return Error::format(ErrorCode::bad_option, "--kafka-...-topic: orders, events and cursor need a topic each");
}

}  // namespace holdfast
