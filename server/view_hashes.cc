#include "server/view_hashes.h"

#include "server/user_names.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace holdfast {
namespace {

constexpr std::uint64_t kUsersSeed = 3;  // purposes of IdMaker::seed; the inventory has 1 and 2
constexpr std::uint64_t kIdsSeed = 4;
constexpr std::uint64_t kNamesSeed = 5;

}  // namespace

ViewHashes ViewHashes::of(const LogSecret& secret) {
  IdMaker maker(secret);
  return {maker.seed(kUsersSeed), maker.seed(kIdsSeed), maker.seed(kNamesSeed)};
}

std::uint64_t ViewHashes::user(const UserId& user) const noexcept { return hash_user(user, users_seed); }

std::uint64_t ViewHashes::id(const ReservationId& id) const noexcept {
  return XXH3_64bits_withSeed(id.bytes().data(), id.bytes().size(), ids_seed);
}

std::uint64_t ViewHashes::name(std::string_view item) const noexcept {
  return XXH3_64bits_withSeed(item.data(), item.size(), names_seed);
}

}  // namespace holdfast
