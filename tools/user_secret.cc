#include "tools/user_secret.h"

#include "protocol/check.h"
#include "protocol/command_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <openssl/evp.h>
#include <openssl/rand.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <vector>

namespace holdfast {
namespace {

constexpr int kUsage = 2;
constexpr std::size_t kSecretBytes = 32;
constexpr std::size_t kNameBytesMax = 64;

using Bytes32 = std::array<unsigned char, 32>;

std::string hexadecimal(const Bytes32& bytes) { return fmt::format("{:02x}", fmt::join(bytes, "")); }

int refuse(std::string_view text) {
  fmt::print(stderr, "holdfastctl: user-secret: {}\n", text);
  return kUsage;
}

std::vector<std::string_view> user_roles() {
  std::vector<std::string_view> names;
  for (const RoleEntry& entry : role_table()) {
    if (find_role(entry.name) != nullptr) names.push_back(entry.name);
  }
  return names;
}

/// A name of letters, digits, "-" and "_" needs no quotes in TOML.
bool is_plain(std::string_view name) {
  return std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  });
}

}  // namespace

std::string digest_text(const std::string& secret) {
  Bytes32 digest;
  unsigned int size = 0;
  CHECK(EVP_Digest(secret.data(), secret.size(), digest.data(), &size, EVP_sha256(), nullptr) == 1);
  CHECK(size == digest.size());
  return "sha256:" + hexadecimal(digest);
}

int user_secret_command(std::span<const std::string> words) {
  if (words.empty()) return refuse(fmt::format("NAME ROLE...; roles are {}", fmt::join(user_roles(), ", ")));
  const std::string& name = words.front();
  if (name.empty() || name.size() > kNameBytesMax || !is_plain(name)) {
    return refuse("NAME is 1 to 64 letters, digits, '-' and '_'");
  }
  const auto roles = words.subspan(1);
  for (const std::string& role : roles) {
    if (find_role(role) != nullptr) continue;
    return refuse(fmt::format("'{}' is not a role; roles are {}", role, fmt::join(user_roles(), ", ")));
  }
  static_assert(kSecretBytes == sizeof(Bytes32));
  Bytes32 random;
  CHECK(RAND_bytes(random.data(), static_cast<int>(random.size())) == 1);
  const std::string secret = hexadecimal(random);
  // Not to where the lines go, which may well be the file itself.
  fmt::print(stderr, "The secret of {}, shown only now; keep it where its program reads it:\n{}\n", name, secret);
  fmt::print("[users.{}]\nroles = [{}{}{}]\nsecrets = [\"{}\"]\n", name, roles.empty() ? "" : "\"",
             fmt::join(roles, "\", \""), roles.empty() ? "" : "\"", digest_text(secret));
  return 0;
}

}  // namespace holdfast
