// What server and tables disagree about. Values; any thread.
#pragma once

#include "replication/observation.h"

#include <array>
#include <initializer_list>
#include <span>

namespace holdfast {

enum class DifferenceKind : std::uint8_t {
#define HOLDFAST_DIFFERENCE(kind, name, what, mends, person) kind,
#include "replication/difference_kinds.def"
};

struct DifferenceKindEntry {
  std::string_view name;
  std::string_view what;
  std::string_view mends;   // what --apply writes
  std::string_view person;  // what stays for one
};

/// The whole table, in its order.
std::span<const DifferenceKindEntry> difference_kinds() noexcept;
std::string_view kind_name(DifferenceKind kind) noexcept;
inline constexpr std::size_t kDifferenceKinds =
    std::initializer_list<DifferenceKind>{
#define HOLDFAST_DIFFERENCE(kind, name, what, mends, person) DifferenceKind::kind,
#include "replication/difference_kinds.def"
    }
        .size();

struct Difference {
  DifferenceKind kind{};
  std::string item;  // outside text; empty: of no item
  ItemVersion version;
  std::string key;     // order id, "sequence 12", user; empty: the item as a whole
  std::string tables;  // what they say
  std::string server;  // what the server says
  bool mendable = false;

  // For mending.
  ItemNumber number;
  Sequence as_of;                       // of the item, when this was found
  Sequence sequence;                    // gap, journal: of the row
  Lsn cursor;                           // cursor: what it says
  Lsn lsn;                              // cursor: where the tables are
  std::int64_t delta = 0;               // sold
  std::optional<Observation> expected;  // missing, state, quantity; terms: what they tell is wrong in the row
  std::optional<Observation> found;     // state, quantity, terms
};

/// Keeps a bounded number of differences, and counts all.
class Differences {
 public:
  void add(Difference difference);
  const std::vector<Difference>& kept() const noexcept { return kept_; }
  std::uint64_t count(DifferenceKind kind) const noexcept { return counts_[static_cast<std::size_t>(kind)]; }
  std::uint64_t count() const noexcept { return count_; }

 private:
  std::vector<Difference> kept_;
  std::array<std::uint64_t, kDifferenceKinds> counts_{};
  std::uint64_t count_ = 0;
};

}  // namespace holdfast
