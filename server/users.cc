#include "server/users.h"

#include "protocol/check.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <algorithm>

namespace holdfast {
namespace {

constexpr std::string_view kDigestPrefix = "sha256:";

/// The value of a hexadecimal digit; negative for another character.
int hex_value(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

}  // namespace

SecretDigest digest_secret(std::string_view secret) {
  SecretDigest digest;
  unsigned int size = 0;
  CHECK(EVP_Digest(secret.data(), secret.size(), digest.data(), &size, EVP_sha256(), nullptr) == 1);
  CHECK(size == digest.size());
  return digest;
}

std::optional<SecretDigest> parse_digest(std::string_view text) noexcept {
  SecretDigest digest;
  if (!text.starts_with(kDigestPrefix)) return {};
  text.remove_prefix(kDigestPrefix.size());
  if (text.size() != digest.size() * 2) return {};
  for (std::size_t i = 0; i < digest.size(); ++i) {
    const int high = hex_value(text[2 * i]);
    const int low = hex_value(text[2 * i + 1]);
    if (high < 0 || low < 0) return {};
    digest[i] = static_cast<std::uint8_t>(high * 16 + low);
  }
  return digest;
}

bool is_user_name(std::string_view name) noexcept {
  return !name.empty() && name.size() <= kUserNameBytesMax &&
         std::all_of(name.begin(), name.end(), [](char c) { return c >= '!' && c <= '~'; });
}

Users::Users() {
  everybody_.name = "default";
  everybody_.roles = kAllRoles;
  stranger_.roles = kOpenRoles;
}

void Users::add(User user) {
  CHECK(is_user_name(user.name) && !contains(user.name));
  CHECK(!user.secrets.empty() && user.secrets.size() <= kUserSecretsMax);
  users_.push_back(std::move(user));
}

bool Users::contains(std::string_view name) const noexcept {
  return std::any_of(users_.begin(), users_.end(), [&](const User& user) { return user.name == name; });
}

const User* Users::authenticate(std::string_view name, std::string_view secret) const {
  if (!configured()) return name == everybody_.name ? &everybody_ : nullptr;
  const SecretDigest given = digest_secret(secret);
  const User* named = nullptr;
  for (const User& user : users_) {
    if (user.name == name) named = &user;
  }
  // Some user's secrets stand in for those of a user that does not exist; every user has as many comparisons.
  const std::vector<SecretDigest>& secrets = named != nullptr ? named->secrets : users_.front().secrets;
  unsigned right = 0;
  for (std::size_t i = 0; i < kUserSecretsMax; ++i) {
    const SecretDigest& kept = secrets[i % secrets.size()];
    right |= CRYPTO_memcmp(given.data(), kept.data(), given.size()) == 0 ? 1U : 0U;
  }
  return named != nullptr && named->enabled && right != 0 ? named : nullptr;
}

}  // namespace holdfast
