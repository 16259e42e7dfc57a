// Who may do what: users with the digests of their secrets and their roles, as the configuration file has them. Nothing
// here can show a secret, since none is kept. Read-only once the server runs, so any thread may read them.
#pragma once

#include "protocol/command_table.h"
#include "server/limits.h"

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast {

/// SHA-256 of a secret. The secret is to be a random one of at least 128 bits: a digest of a word that people choose can
/// be guessed.
using SecretDigest = std::array<std::uint8_t, 32>;
SecretDigest digest_secret(std::string_view secret);
/// Reads "sha256:" and 64 hexadecimal digits; nothing for another text.
std::optional<SecretDigest> parse_digest(std::string_view text) noexcept;

struct User {
  std::string name;
  RoleMask roles = kOpenRoles | role_bit(Role::any);
  bool enabled = true;
  /// Any of them is right, so that a secret can be replaced without a moment in which none is.
  std::vector<SecretDigest> secrets;
};

/// Whether CLIENT INFO and errors can show it as it is: 1 to 64 printable characters without spaces.
bool is_user_name(std::string_view name) noexcept;

class Users {
 public:
  /// Nobody is configured: everybody is the user default and may do everything.
  Users();

  /// REQUIRES: is_user_name(user.name), no user of this name yet, 1 to kUserSecretsMax secrets.
  void add(User user);
  bool contains(std::string_view name) const noexcept;
  std::size_t count() const noexcept { return users_.size(); }
  bool configured() const noexcept { return !users_.empty(); }

  /// The user of this name if the secret is one of his and he is enabled, else nothing. Takes as long for a user that
  /// does not exist, and for every wrong secret of the same length.
  const User* authenticate(std::string_view name, std::string_view secret) const;
  /// Who a connection is before it has authenticated.
  const User& initial() const noexcept { return configured() ? stranger_ : everybody_; }

 private:
  std::vector<User> users_;
  User everybody_;  // default, without a secret
  User stranger_;   // what a connection is until it authenticates
};

}  // namespace holdfast
