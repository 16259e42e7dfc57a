// The rows of one item version, in chunks of 64 KiB, and which of them is due or oldest.
//
// Slots are dense and stable; a freed slot is used by the next row. For every 64 rows a lower bound of the deadlines
// and of the last sequences of ended rows is kept, over the chunks a tree of the smallest: the next row is found by
// looking at one block. Bounds only ever err towards "sooner" and are corrected when somebody looks. One thread.
#pragma once

#include "server/minimum_tree.h"
#include "server/row.h"

#include <array>
#include <memory>
#include <optional>
#include <vector>

namespace holdfast {

class RowChunks {
 public:
  static constexpr std::uint32_t kChunkRows = 65536 / sizeof(Row);
  static constexpr std::uint64_t kNever = MinimumTree::kNever;

  /// Neighbours in a user's list of several live rows, newest first.
  struct Link {
    static constexpr std::uint32_t kEnd = UINT32_MAX;
    std::uint32_t newer = kEnd;
    std::uint32_t older = kEnd;
  };

  /// A slot whose row is empty (state none).
  RowSlot take();
  /// This slot, not before used, as `take` gives it; those between the last one and it become free.
  void take(RowSlot slot);
  /// Slots below this one have been used; the new ones are free. REQUIRES: not less than end().
  void use_up_to(std::uint32_t end);
  /// Makes a slot free.
  void give_back(RowSlot slot);
  Row& at(RowSlot slot) noexcept { return rows_[slot.value() / kChunkRows][slot.value() % kChunkRows]; }
  const Row& at(RowSlot slot) const noexcept { return rows_[slot.value() / kChunkRows][slot.value() % kChunkRows]; }
  /// Slots ever used: 0..end-1.
  std::uint32_t end() const noexcept { return end_; }

  std::int64_t quantity(RowSlot slot) const noexcept;
  void set_quantity(RowSlot slot, std::int64_t quantity);
  Link& link(RowSlot slot);
  /// REQUIRES: it was set.
  const Link& link(RowSlot slot) const noexcept { return chunk_of(slot).links[slot.value() % kChunkRows]; }

  /// Must be called when a row became RESERVED with a deadline, or ended.
  void note_deadline(RowSlot slot);
  void note_ended(RowSlot slot);
  /// No RESERVED row is due before this; kNever when there is none with a deadline.
  std::uint64_t deadline_bound() const noexcept { return deadlines_.minimum(); }
  /// The RESERVED row with the earliest deadline, if that is not after `latest` (of equals, the lowest slot of the first
  /// block). Each block that it looks at takes one from `looks`; nothing, too, when none are left.
  std::optional<RowSlot> earliest_deadline(std::uint64_t latest, int& looks);
  /// The ended row with the lowest last sequence.
  std::optional<RowSlot> oldest_ended();

  /// Frees up to `chunks` chunks from the end, calling `on_row` for each row in use; true when nothing is left. Between
  /// the first call and the last nothing else may be called.
  template <class OnRow>
  bool release_some(std::size_t chunks, OnRow on_row) {
    for (; chunks > 0 && !chunks_.empty(); --chunks) {
      const auto first = static_cast<std::uint32_t>((chunks_.size() - 1) * kChunkRows);
      for (std::uint32_t slot = first; slot < end_; ++slot) {
        if (at(RowSlot(slot)).state() != ReservationState::none) on_row(at(RowSlot(slot)));
      }
      end_ = std::min(end_, first);
      chunks_.pop_back();
      rows_.pop_back();
    }
    return chunks_.empty();
  }
  std::size_t bytes() const noexcept;

 private:
  static constexpr std::uint32_t kBlockRows = 64;
  static constexpr std::uint32_t kBlocks = (kChunkRows + kBlockRows - 1) / kBlockRows;
  static constexpr std::uint32_t kFirstRows = 16;
  using Bounds = std::array<std::uint64_t, kBlocks>;

  /// What a chunk has besides its rows.
  struct Chunk {
    std::unique_ptr<std::int64_t[]> quantities;  // of rows whose quantity is not inline; made when first needed
    std::unique_ptr<Link[]> links;               // of rows of users with several; made when first needed
    Bounds deadline = never();
    Bounds ended = never();
  };
  static constexpr Bounds never() {
    Bounds bounds;
    bounds.fill(kNever);
    return bounds;
  }

  RowSlot use_next();
  void make_free(RowSlot slot);
  void add_room();
  static std::uint64_t deadline_key(const Row& row) noexcept;
  static std::uint64_t ended_key(const Row& row) noexcept;
  void lower(MinimumTree& tree, Bounds Chunk::*bounds, RowSlot slot, std::uint64_t key);
  template <class Key>
  std::optional<RowSlot> lowest(MinimumTree& tree, Bounds Chunk::*bounds, Key key, std::uint64_t highest, int& looks);

  Chunk& chunk_of(RowSlot slot) const noexcept { return *chunks_[slot.value() / kChunkRows]; }

  // Apart, and behind pointers, so that the addresses of all rows stay in the cache and growing moves only pointers.
  std::vector<std::unique_ptr<Row[]>> rows_;
  std::vector<std::unique_ptr<Chunk>> chunks_;
  std::uint32_t last_capacity_ = 0;  // of the last chunk: less than kChunkRows only while there is no other
  std::uint32_t end_ = 0;
  std::uint32_t free_ = UINT32_MAX;  // the first free slot; its row names the next
  MinimumTree deadlines_;            // by chunk
  MinimumTree ended_;                // by chunk
};

}  // namespace holdfast
