// Where the users of rows are kept that do not fit into a row's 8 bytes, and how users are hashed and compared.
// One for all items of a shard. One thread at a time.
#pragma once

#include "server/row.h"
#include "server/unit_pool.h"

namespace holdfast {

/// A hash of who the user is. `seed` is secret, so that nobody can choose users that collide.
std::uint64_t hash_user(const UserId& user, std::uint64_t seed) noexcept;

class UserNames {
 public:
  /// `seed` is hash_user's.
  explicit UserNames(std::uint64_t seed) : seed_(seed) {}

  /// Keeps the user.
  UserRef store(const UserId& user);
  /// Frees what `store` kept.
  void release(UserRef user);
  /// A view that is valid until the user is released.
  UserId user_of(UserRef user) const noexcept;
  bool is_user_of(UserRef ref, const UserId& user) const noexcept;
  std::uint64_t hash(const UserId& user) const noexcept { return hash_user(user, seed_); }
  std::size_t bytes() const noexcept { return pool_.bytes(); }

 private:
  static constexpr std::uint32_t kUnitBytes = 8;

  std::uint64_t seed_;
  UnitPool pool_{kUnitBytes};  // a UUID's 16 bytes, or a length byte and the name
};

}  // namespace holdfast
