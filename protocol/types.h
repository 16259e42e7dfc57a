// The strong types of ids, positions, amounts and times that all folders share. Values only; any thread.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <functional>

namespace holdfast {

/// A number that converts to and from its representation only by name.
template <class Tag, class Rep>
class Strong {
 public:
  using rep = Rep;
  constexpr Strong() noexcept = default;
  constexpr explicit Strong(Rep value) noexcept : value_(value) {}
  constexpr Rep value() const noexcept { return value_; }
  constexpr auto operator<=>(const Strong&) const noexcept = default;
  constexpr Strong next() const noexcept { return Strong(static_cast<Rep>(value_ + 1)); }

 private:
  Rep value_{};
};

/// Position of a record in the log, dense from 1; 0 means none.
using Lsn = Strong<struct LsnTag, std::uint64_t>;
/// Number of one version of an item, unique in a log; no meaning, no density; 0 means none.
using ItemNumber = Strong<struct ItemNumberTag, std::uint64_t>;
/// Number of a change of an item version, dense from 1; 0 means none. At most 2^40-1.
using Sequence = Strong<struct SequenceTag, std::uint64_t>;
/// Version of an item, given by whoever loads it: 1..2^63-1; 0 means none.
using ItemVersion = Strong<struct ItemVersionTag, std::uint64_t>;
/// Units of stock, 0..2^53-1.
using Quantity = Strong<struct QuantityTag, std::int64_t>;
/// Number of a group of records of one shard, dense from 1 since the process started; 0 means none.
using GroupOrdinal = Strong<struct GroupOrdinalTag, std::uint64_t>;
/// Index of a shard, 0..shards-1.
using ShardIndex = Strong<struct ShardIndexTag, std::uint16_t>;

/// The largest stock: what a JSON consumer keeps exact.
inline constexpr std::int64_t kStockMax = (std::int64_t{1} << 53) - 1;

/// The hold clock: deadlines, caps, views and leases. Runs while the machine runs, also in suspend and across restarts.
struct HoldClock {
  using duration = std::chrono::milliseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<HoldClock, duration>;
  static constexpr bool is_steady = true;
};
using HoldTime = HoldClock::time_point;

/// The wall clock: Unix time in milliseconds; it only stamps, and never runs backwards.
struct WallClock {
  using duration = std::chrono::milliseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<WallClock, duration>;
  static constexpr bool is_steady = false;
};
using WallTime = WallClock::time_point;

/// Milliseconds, the unit of every duration on the wire, on disk and in options.
using Millis = std::chrono::milliseconds;

inline constexpr std::int64_t to_ms(HoldTime time) noexcept { return time.time_since_epoch().count(); }
inline constexpr std::int64_t to_ms(WallTime time) noexcept { return time.time_since_epoch().count(); }
inline constexpr HoldTime hold_time(std::int64_t ms) noexcept { return HoldTime(Millis(ms)); }
inline constexpr WallTime wall_time(std::int64_t ms) noexcept { return WallTime(Millis(ms)); }

/// What a step is told of time.
struct Now {
  HoldTime hold;  // the last whole millisecond that has passed on the hold clock
  WallTime wall;  // the last whole millisecond of the wall clock
  /// 1 ms when part of the next hold millisecond has passed: added to new deadlines, so that none is early.
  Millis round_up{};
};

inline constexpr std::uint64_t operator""_KiB(unsigned long long n) { return n << 10; }
inline constexpr std::uint64_t operator""_MiB(unsigned long long n) { return n << 20; }
inline constexpr std::uint64_t operator""_GiB(unsigned long long n) { return n << 30; }

}  // namespace holdfast

template <class Tag, class Rep>
struct std::hash<holdfast::Strong<Tag, Rep>> {
  std::size_t operator()(holdfast::Strong<Tag, Rep> id) const noexcept { return std::hash<Rep>{}(id.value()); }
};
