#include "server/row_chunks.h"

#include "protocol/check.h"

#include <algorithm>

namespace holdfast {

RowSlot RowChunks::take() {
  if (free_ != UINT32_MAX) {
    const RowSlot slot(free_);
    free_ = at(slot).next_free();
    at(slot) = Row();
    return slot;
  }
  return use_next();
}

RowSlot RowChunks::use_next() {
  if (end_ % kChunkRows == 0 || end_ % kChunkRows == last_capacity_) add_room();
  at(RowSlot(end_)) = Row();
  return RowSlot(end_++);
}

void RowChunks::take(RowSlot slot) {
  use_up_to(slot.value());
  use_next();
}

void RowChunks::use_up_to(std::uint32_t end) {
  CHECK(end >= end_);
  while (end_ < end) make_free(use_next());
}

void RowChunks::give_back(RowSlot slot) {
  CHECK(slot.value() < end_ && at(slot).state() != ReservationState::none);
  make_free(slot);
}

void RowChunks::make_free(RowSlot slot) {
  at(slot) = Row();
  at(slot).set_next_free(free_);
  free_ = slot.value();
}

/// The first chunk grows from a few rows, so that an item with few reservations stays small; later ones are whole.
void RowChunks::add_room() {
  if (end_ % kChunkRows == 0) {
    last_capacity_ = rows_.empty() ? kFirstRows : kChunkRows;
    rows_.push_back(std::make_unique_for_overwrite<Row[]>(last_capacity_));
    chunks_.push_back(std::make_unique<Chunk>());
    return;
  }
  const std::uint32_t capacity = std::min(2 * last_capacity_, kChunkRows);
  auto rows = std::make_unique_for_overwrite<Row[]>(capacity);
  std::copy_n(rows_.back().get(), last_capacity_, rows.get());
  rows_.back() = std::move(rows);
  last_capacity_ = capacity;
}

std::int64_t RowChunks::quantity(RowSlot slot) const noexcept {
  const std::int64_t quantity = at(slot).inline_quantity();
  return quantity != 0 ? quantity : chunk_of(slot).quantities[slot.value() % kChunkRows];
}

void RowChunks::set_quantity(RowSlot slot, std::int64_t quantity) {
  CHECK(quantity > 0);
  if (quantity <= Row::kInlineQuantityMax) return at(slot).set_inline_quantity(quantity);
  auto& quantities = chunk_of(slot).quantities;
  if (!quantities) quantities = std::make_unique<std::int64_t[]>(kChunkRows);
  quantities[slot.value() % kChunkRows] = quantity;
  at(slot).set_inline_quantity(0);
}

RowChunks::Link& RowChunks::link(RowSlot slot) {
  auto& links = chunk_of(slot).links;
  if (!links) links = std::make_unique<Link[]>(kChunkRows);
  return links[slot.value() % kChunkRows];
}

void RowChunks::note_deadline(RowSlot slot) { lower(deadlines_, &Chunk::deadline, slot, deadline_key(at(slot))); }

void RowChunks::note_ended(RowSlot slot) { lower(ended_, &Chunk::ended, slot, ended_key(at(slot))); }

std::optional<RowSlot> RowChunks::earliest_deadline(std::uint64_t latest, int& looks) {
  return lowest(deadlines_, &Chunk::deadline, deadline_key, latest, looks);
}

/// Not limited: a bound is left behind only by a row that is forgotten or resumed, and put right once.
std::optional<RowSlot> RowChunks::oldest_ended() {
  int looks = std::numeric_limits<int>::max();
  return lowest(ended_, &Chunk::ended, ended_key, kNever - 1, looks);
}

std::size_t RowChunks::bytes() const noexcept {
  std::size_t bytes = (rows_.capacity() + chunks_.capacity()) * sizeof(void*) + deadlines_.bytes() + ended_.bytes();
  for (const auto& chunk : chunks_) {
    const std::size_t rows = chunk == chunks_.back() ? last_capacity_ : kChunkRows;
    bytes += sizeof(Chunk) + rows * sizeof(Row) + (chunk->quantities ? kChunkRows * sizeof(std::int64_t) : 0) +
             (chunk->links ? kChunkRows * sizeof(Link) : 0);
  }
  return bytes;
}

std::uint64_t RowChunks::deadline_key(const Row& row) noexcept {
  return row.state() == ReservationState::reserved && row.time() != Row::kNoDeadline ? row.time() : kNever;
}

std::uint64_t RowChunks::ended_key(const Row& row) noexcept { return row.ended() ? row.sequence().value() : kNever; }

void RowChunks::lower(MinimumTree& tree, Bounds Chunk::*bounds, RowSlot slot, std::uint64_t key) {
  const std::size_t number = slot.value() / kChunkRows;
  std::uint64_t& bound = (*chunks_[number].*bounds)[slot.value() % kChunkRows / kBlockRows];
  if (key >= bound) return;
  bound = key;
  if (key < tree.at(number)) tree.set(number, key);
}

template <class Key>
std::optional<RowSlot> RowChunks::lowest(MinimumTree& tree, Bounds Chunk::*bounds, Key key, std::uint64_t highest,
                                         int& looks) {
  for (; looks > 0 && tree.minimum() <= highest; --looks) {
    const std::size_t number = tree.minimum_leaf();
    Chunk& chunk = *chunks_[number];
    const auto bound = std::min_element((chunk.*bounds).begin(), (chunk.*bounds).end());
    const auto first = static_cast<std::uint32_t>(number * kChunkRows) +
                       static_cast<std::uint32_t>(bound - (chunk.*bounds).begin()) * kBlockRows;
    const std::uint32_t last =
        std::min({first + kBlockRows, static_cast<std::uint32_t>((number + 1) * kChunkRows), end_});
    std::uint64_t smallest = kNever;
    RowSlot found;
    for (std::uint32_t slot = first; slot < last; ++slot) {
      if (const std::uint64_t value = key(at(RowSlot(slot))); value < smallest) {
        smallest = value;
        found = RowSlot(slot);
      }
    }
    if (smallest == *bound) return found;
    *bound = smallest;
    tree.set(number, *std::min_element((chunk.*bounds).begin(), (chunk.*bounds).end()));
  }
  return std::nullopt;
}

}  // namespace holdfast
