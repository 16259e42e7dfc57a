#include "server/kept_filter.h"

#include "server/item.h"
#include "server/view_filter.h"

#include <algorithm>

namespace holdfast {
namespace {

/// Keys that the smallest filter has room for: most items that refuse have few reservations.
constexpr std::uint64_t kKeysMin = 2 * ViewFilter::kKeysPerBlock;

}  // namespace

KeptFilter::KeptFilter(Keys keys, Item& item, const ViewHashes& hashes, std::size_t& bytes) noexcept
    : keys_(keys), item_(&item), hashes_(hashes), bytes_(bytes) {}

KeptFilter::KeptFilter(const Sale& sale, const ViewHashes& hashes, std::size_t& bytes) noexcept
    : keys_(Keys::users), sale_(&sale), hashes_(hashes), bytes_(bytes) {}

KeptFilter::~KeptFilter() {
  drop_next();
  if (used_ != nullptr) bytes_ -= used_->bytes();
}

bool KeptFilter::add(std::uint64_t hash) {
  if (next_ != nullptr && next_->add(hash)) ++added_to_next_;
  if (used_ == nullptr || !used_->add(hash)) return false;
  ++added_;
  return next_ == nullptr && added_ >= used_->capacity();
}

bool KeptFilter::outgrown() const noexcept {
  if (used_ == nullptr || next_ != nullptr) return false;
  return added_ >= used_->capacity() || added_ > std::max(2 * remembered(), kKeysMin);
}

void KeptFilter::start() {
  CHECK(next_ == nullptr);
  next_ = make();
  bytes_ += next_->bytes();
  added_to_next_ = 0;
  look_again();
}

bool KeptFilter::build(std::uint32_t& rows) {
  CHECK(next_ != nullptr);
  for (const auto sources = items(); at_item_ < sources.size(); ++at_item_, at_slot_ = 0) {
    const ItemRows& source = *sources[at_item_]->rows;
    for (; at_slot_ < source.slots_end() && rows > 0; ++at_slot_, --rows) {
      const RowSlot slot(at_slot_);
      const Row& row = source.row(slot);
      if (row.state() == ReservationState::none || (keys_ == Keys::users && !row.live())) continue;
      const std::uint64_t hash = keys_ == Keys::ids ? hashes_.id(row.id) : hashes_.user(source.user(slot));
      if (next_->add(hash)) ++added_to_next_;
    }
    if (at_slot_ < source.slots_end()) return false;
  }
  if (added_to_next_ < next_->capacity()) return true;
  drop_next();  // more was added meanwhile than it has room for
  start();
  return false;
}

std::unique_ptr<ViewFilter> KeptFilter::take_next(GroupOrdinal rests_on) {
  CHECK(next_ != nullptr);
  std::unique_ptr<ViewFilter> before = release();
  used_ = std::move(next_);
  added_ = added_to_next_;
  rests_on_ = rests_on;
  return before;
}

std::unique_ptr<ViewFilter> KeptFilter::release() {
  if (used_ != nullptr) bytes_ -= used_->bytes();
  return std::move(used_);
}

std::span<Item* const> KeptFilter::items() const noexcept {
  return sale_ != nullptr ? std::span<Item* const>(sale_->items) : std::span<Item* const>(&item_, 1);
}

std::uint64_t KeptFilter::remembered() const noexcept {
  if (sale_ != nullptr) return sale_->live_users();
  return keys_ == Keys::ids ? item_->rows->row_count() : item_->rows->live_users();
}

/// Room for as much again as there is.
std::unique_ptr<ViewFilter> KeptFilter::make() const {
  return std::make_unique<ViewFilter>(std::max(2 * remembered(), kKeysMin));
}

void KeptFilter::drop_next() {
  if (next_ == nullptr) return;
  bytes_ -= next_->bytes();
  next_.reset();
}

}  // namespace holdfast
