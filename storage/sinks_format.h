// The sinks of a log: who reads it and how far each has come. And constants of the file that keeps them, which
// storage/README.md draws. Values; any thread.
#pragma once

#include "protocol/names.h"
#include "storage/log_identity.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace holdfast {

/// What a sink could not take: a reservation by its id, or another change of an item by its id or sequence.
struct ParkedKey {
  std::string item;
  ItemVersion version;
  std::string id;
  auto operator<=>(const ParkedKey&) const = default;
};
/// With the reason of each.
using Parked = std::map<ParkedKey, std::string>;

struct Sink {
  std::string name;
  Lsn acked;            // everything up to here is in the sink, durably, or parked
  Lsn ahead;            // it once acknowledged this, when so much was not in the log; none: it did not
  WallTime acked_at{};  // when it last said something
  std::shared_ptr<const Parked> parked = std::make_shared<const Parked>();
};

/// All that the file says.
struct Sinks {
  LogId log_id{};
  std::vector<Sink> sinks;  // in the order of their names
};

/// Bounds of it.
inline constexpr std::size_t kSinksMax = 16;
inline constexpr std::size_t kSinkNameBytesMax = 64;
inline constexpr std::size_t kParkedMax = 100'000;  // of all sinks
inline constexpr std::size_t kParkedIdBytesMax = 36;
inline constexpr std::size_t kParkedReasonBytesMax = 64;

namespace sinks_format {

inline constexpr std::uint64_t kMagic = 0x4b4e4953444c4f48;  // "HOLDSINK"
inline constexpr std::uint16_t kVersion = 1;
inline constexpr std::size_t kHeaderBytes = 40;
inline constexpr std::size_t kSumBytes = 8;
/// The texts of one, their lengths, and its version.
inline constexpr std::size_t kParkedBytesMax = kItemNameBytesMax + kParkedIdBytesMax + kParkedReasonBytesMax + 4 + 10;
inline constexpr std::size_t kSinkBytesMax = kSinkNameBytesMax + 1 + 4 * 10;
inline constexpr std::size_t kFileBytesMax =
    kHeaderBytes + kSinksMax * kSinkBytesMax + kParkedMax * kParkedBytesMax + kSumBytes;

}  // namespace sinks_format
}  // namespace holdfast
