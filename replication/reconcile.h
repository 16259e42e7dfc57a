// Compares what the server says with what the tables say, part by part. Each item is looked at as of its sequence in
// holdfast_item, which the relay writes with everything else: what the server did later is the relay's to bring.
// Deterministic; no I/O; one thread.
//
// A reservation's row should be as the last change that the tables have of it left it. Which that was, the log says, else
// the snapshot, else the first later change, else, for what the server has forgotten, the journal. Of what is parked, the
// row should be as it was before that began.
//
// What an order says beside that, its terms, is what RESERVE and the last RESUME and EXTEND said: by the log, else by the
// journal. Orders that the tables began with have theirs from a snapshot, whose clock is not the log's: of these only what
// came later counts.
#pragma once

#include "replication/difference.h"
#include "replication/reconcile_items.h"

namespace holdfast {

class Reconcile {
 public:
  /// `log_begins`: the first LSN that the log has. The referenced live as long.
  Reconcile(ReconcileItems& items, const ReconcileChains& chains, OutsideIds ids, Lsn log_begins, Differences& out)
      : items_(items), chains_(chains), ids_(ids), log_begins_(log_begins), out_(out) {}

  /// All observations of some reservations and changes, in any order, each of an item in `items`.
  void compare(std::vector<Observation> part);
  /// Once everything is compared: the sums of items.
  void finish();

 private:
  struct Group;  // of one reservation
  /// A state that a reservation had.
  struct Truth {
    const Observation* change = nullptr;  // that left it so; nothing: that was not told
    OrderStatus status{};
    std::int64_t quantity = 0;
    std::string_view user;
    bool by_server = false;
  };
  /// What an order is to say beside its state, as far as that is told.
  struct TermsTruth {
    OrderTerms terms;
    OrderTermSet by_server;
  };
  void compare_group(std::span<const Observation> all);
  void compare_journal(const Group& group);
  void compare_order(const Group& group);
  std::optional<Truth> truth_at(const Group& group, Sequence sequence) const;
  bool can_write(const Group& group, const Truth& truth) const;
  void judge_row(const Group& group, const Truth& truth, Sequence until, bool excused);
  TermsTruth terms_at(const Group& group, Sequence sequence) const;
  void judge_terms(const Group& group, Sequence until);
  void judge_unknown(const Group& group, std::string_view why);
  Difference difference(DifferenceKind kind, const ReconcileItem& item) const;
  void finish_item(ReconcileItem& item);
  void check_law(const ReconcileItem& item);

  ReconcileItems& items_;
  const ReconcileChains& chains_;
  OutsideIds ids_;
  Lsn log_begins_;
  Differences& out_;
};

/// Where the tables are by what they hold, and where the cursor says.
struct TablesPosition {
  Lsn cursor;
  Lsn has;             // the last change that the tables have
  Lsn lacks;           // the first that they do not have; none: they have all
  bool marked = true;  // the cursor is as a relay wrote it
};
/// Nothing when the cursor can be right.
std::optional<Difference> judge_cursor(const TablesPosition& position);

}  // namespace holdfast
