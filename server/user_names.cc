#include "server/user_names.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace holdfast {
namespace {

constexpr std::uint32_t units_for(std::size_t bytes, std::uint32_t unit_bytes) noexcept {
  return static_cast<std::uint32_t>((bytes + unit_bytes - 1) / unit_bytes);
}

}  // namespace

std::uint64_t hash_user(const UserId& user, std::uint64_t seed) noexcept {
  if (user.kind() == UserId::Kind::number) {
    const std::uint64_t number = user.number();
    return XXH3_64bits_withSeed(&number, sizeof(number), seed);
  }
  return XXH3_64bits_withSeed(user.bytes().data(), user.bytes().size(), seed + 1);
}

UserRef UserNames::store(const UserId& user) {
  if (user.kind() == UserId::Kind::number) return {user.number(), user.kind()};
  const std::string_view bytes = user.bytes();
  const std::size_t prefix = user.kind() == UserId::Kind::bytes ? 1 : 0;
  const UnitPool::Handle handle = pool_.allocate(units_for(prefix + bytes.size(), kUnitBytes));
  std::byte* at = pool_.at(handle);
  if (prefix != 0) *at = static_cast<std::byte>(bytes.size());
  std::memcpy(at + prefix, bytes.data(), bytes.size());
  return {handle, user.kind()};
}

void UserNames::release(UserRef user) {
  if (user.kind == UserId::Kind::number) return;
  const auto handle = static_cast<UnitPool::Handle>(user.value);
  const std::size_t bytes = user.kind == UserId::Kind::uuid ? 16 : 1 + std::to_integer<std::size_t>(*pool_.at(handle));
  pool_.release(handle, units_for(bytes, kUnitBytes));
}

UserId UserNames::user_of(UserRef user) const noexcept {
  if (user.kind == UserId::Kind::number) return UserId::from_number(user.value);
  const auto* at = reinterpret_cast<const char*>(pool_.at(static_cast<UnitPool::Handle>(user.value)));
  if (user.kind == UserId::Kind::uuid) return UserId::from_uuid({at, 16});
  return UserId::from_bytes({at + 1, static_cast<unsigned char>(*at)});
}

bool UserNames::is_user_of(UserRef ref, const UserId& user) const noexcept {
  if (ref.kind != user.kind()) return false;
  if (user.kind() == UserId::Kind::number) return ref.value == user.number();
  return user_of(ref) == user;
}

}  // namespace holdfast
