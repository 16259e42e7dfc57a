// Makes the ids of reservations whose client gave none: UUIDv7 shape (RFC 9562, 5.7) with the step's wall milliseconds
// in front; the other 74 bits are AES-128 of (item number, sequence) under the log's secret, so that they are the same
// in every replay and nobody can guess them. One thread at a time.
#pragma once

#include "protocol/names.h"

#include <array>
#include <memory>

namespace holdfast {

using LogSecret = std::array<std::uint8_t, 16>;

class IdMaker {
 public:
  explicit IdMaker(const LogSecret& secret);
  ~IdMaker();
  ReservationId make(WallTime wall, ItemNumber item, Sequence sequence);
  /// Secret numbers derived from the log's secret, for seeding hashes. `purpose` tells them apart.
  std::uint64_t seed(std::uint64_t purpose);

 private:
  struct Cipher;
  std::array<std::uint8_t, 16> encrypt(std::uint64_t high, std::uint64_t low);

  std::unique_ptr<Cipher> cipher_;
};

}  // namespace holdfast
