#include "tools/kafka_property.h"

#include "tools/credentials.h"

#include <algorithm>
#include <array>

namespace holdfast {
namespace {

constexpr std::array<std::string_view, 6> kSecrets = {
    "sasl.oauthbearer.client.secret", "sasl.oauthbearer.config", "sasl.password", "ssl.key.password", "ssl.key.pem",
    "ssl.keystore.password"};

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

}  // namespace holdfast
