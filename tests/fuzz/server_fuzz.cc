// Any bytes on two connections against the whole server in memory: sessions, shard, gate. It answers or refuses, and holds
// the law of every item. The first byte of the input says how long the pieces are and how many shards
// there are; a zero byte changes the connection.
// Requests made from the command table are mixed in, so that whole commands are common.
#include "protocol/check.h"
#include "tests/unit/server/command_noise.h"
#include "tests/unit/server/server_in_memory.h"

#include <algorithm>
#include <cstring>

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t size_max);

namespace {

void check_law(holdfast::test::ServerInMemory& server) {
  const auto peer = server.connect();
  server.send(peer, "*3\r\n$4\r\nITEM\r\n$6\r\nVERIFY\r\n$1\r\n*\r\n");
  server.settle();
  CHECK(server.take(peer) == "*0\r\n");
}

}  // namespace

/// Either what the fuzzer would do, or requests put somewhere in between.
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t size_max,
                                               unsigned seed) {
  if (seed % 2 == 0) return LLVMFuzzerMutate(data, size, size_max);
  holdfast::test::CommandNoise noise(seed, false);
  const std::string requests = noise.stream(1 + static_cast<int>(seed / 2 % 4));
  if (size + requests.size() > size_max) return LLVMFuzzerMutate(data, size, size_max);
  std::uint8_t* const at = data + (size == 0 ? 0 : seed / 8 % size);
  std::memmove(at + requests.size(), at, static_cast<std::size_t>(data + size - at));
  std::copy(requests.begin(), requests.end(), at);
  return size + requests.size();
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  holdfast::test::ServerInMemory server(static_cast<std::uint16_t>(1 + data[0] % 3));
  holdfast::test::ServerInMemory::Peer peers[] = {server.connect(), server.connect()};
  const std::string_view bytes(reinterpret_cast<const char*>(data + 1), size - 1);
  const std::size_t piece = 1 + data[0];
  std::size_t turn = 0;
  for (std::size_t at = 0; at < bytes.size();) {
    const std::string_view rest = bytes.substr(at, piece);
    const std::size_t change = rest.find('\0');
    auto& peer = peers[turn % 2];
    if (server.closed(peer)) peer = server.connect();
    server.send(peer, rest.substr(0, change));
    server.settle();
    if (change != std::string_view::npos) {
      ++turn;
      server.pass(holdfast::Millis(100));
    }
    at += change == std::string_view::npos ? rest.size() : change + 1;
  }
  check_law(server);
  return 0;
}
