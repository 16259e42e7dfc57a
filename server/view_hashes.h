// How users and ids are hashed for the filters of views, alike in every thread. The seeds come from the log's secret, so
// that nobody can choose users that are taken for others. Values; any thread.
#pragma once

#include "server/id_maker.h"

namespace holdfast {

struct ViewHashes {
  std::uint64_t users_seed = 0;
  std::uint64_t ids_seed = 0;
  std::uint64_t names_seed = 0;

  static ViewHashes of(const LogSecret& secret);
  std::uint64_t user(const UserId& user) const noexcept;
  std::uint64_t id(const ReservationId& id) const noexcept;
  /// For maps by item.
  std::uint64_t name(std::string_view item) const noexcept;
};

}  // namespace holdfast
