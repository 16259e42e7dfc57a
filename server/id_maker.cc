#include "server/id_maker.h"

#include "protocol/check.h"

#include <openssl/evp.h>

namespace holdfast {
namespace {

void store_big_endian(std::uint64_t number, std::uint8_t* at) noexcept {
  for (int shift = 56; shift >= 0; shift -= 8) *at++ = static_cast<std::uint8_t>(number >> shift);
}

}  // namespace

struct IdMaker::Cipher {
  EVP_CIPHER_CTX* context = EVP_CIPHER_CTX_new();
  ~Cipher() { EVP_CIPHER_CTX_free(context); }
};

IdMaker::IdMaker(const LogSecret& secret) : cipher_(std::make_unique<Cipher>()) {
  CHECK(EVP_EncryptInit_ex(cipher_->context, EVP_aes_128_ecb(), nullptr, secret.data(), nullptr) == 1);
  CHECK(EVP_CIPHER_CTX_set_padding(cipher_->context, 0) == 1);
}

IdMaker::~IdMaker() = default;

ReservationId IdMaker::make(WallTime wall, ItemNumber item, Sequence sequence) {
  auto bytes = encrypt(item.value(), sequence.value());
  const auto ms = static_cast<std::uint64_t>(to_ms(wall));
  for (std::size_t i = 0; i < 6; ++i) bytes[i] = static_cast<std::uint8_t>(ms >> (40 - 8 * i));
  bytes[6] = static_cast<std::uint8_t>((bytes[6] & 0x0f) | 0x70);
  bytes[8] = static_cast<std::uint8_t>((bytes[8] & 0x3f) | 0x80);
  return ReservationId(bytes);
}

std::uint64_t IdMaker::seed(std::uint64_t purpose) {
  // No item has this number, so no id shows these bits.
  const auto bytes = encrypt(UINT64_MAX, purpose);
  std::uint64_t seed;
  std::memcpy(&seed, bytes.data(), sizeof(seed));
  return seed;
}

std::array<std::uint8_t, 16> IdMaker::encrypt(std::uint64_t high, std::uint64_t low) {
  std::array<std::uint8_t, 16> block;
  store_big_endian(high, block.data());
  store_big_endian(low, block.data() + 8);
  int size = 0;
  CHECK(EVP_EncryptUpdate(cipher_->context, block.data(), &size, block.data(), static_cast<int>(block.size())) == 1);
  CHECK(size == static_cast<int>(block.size()));
  return block;
}

}  // namespace holdfast
