#include "replication/difference.h"

#include "replication/limits.h"

namespace holdfast {
namespace {

constexpr DifferenceKindEntry kKinds[] = {
#define HOLDFAST_DIFFERENCE(kind, name, what, mends, person) {name, what, mends, person},
#include "replication/difference_kinds.def"
};

}  // namespace

std::span<const DifferenceKindEntry> difference_kinds() noexcept { return kKinds; }

std::string_view kind_name(DifferenceKind kind) noexcept { return kKinds[static_cast<std::size_t>(kind)].name; }

void Differences::add(Difference difference) {
  ++count_;
  ++counts_[static_cast<std::size_t>(difference.kind)];
  if (kept_.size() < kDifferencesMax) kept_.push_back(std::move(difference));
}

}  // namespace holdfast
