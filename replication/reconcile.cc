#include "replication/reconcile.h"

#include "protocol/check.h"
#include "replication/outside_id.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <tuple>

namespace holdfast {
namespace {

std::string show(OrderStatus status, std::int64_t quantity, std::string_view user, Sequence sequence) {
  return fmt::format("{} x{} of user {}, sequence {}", status_name(status), quantity, user, sequence.value());
}

/// What an order that the tables began with does not have from the log.
constexpr OrderTermSet kFromSnapshot = {OrderTerm::offer, OrderTerm::reserved_at, OrderTerm::expires_at};

std::string show(const Observation& row) { return show(row.status, row.quantity, row.user, row.sequence); }

}  // namespace

std::size_t ReconcileKeyHash::operator()(const ReconcileKey& key) const noexcept {
  std::uint64_t words[2];
  std::memcpy(words, key.id.bytes().data(), sizeof words);
  return (words[0] * 0x9e3779b97f4a7c15 ^ words[1]) * 0xff51afd7ed558ccd ^ key.number.value();
}

/// Of one reservation, or of all changes of one item as a whole; each source's in the order of their sequence.
struct Reconcile::Group {
  ReconcileItem& item;
  std::span<const Observation> snapshot;
  std::span<const Observation> log;
  std::span<const Observation> journal;
  std::span<const Observation> order;

  const Observation& any() const noexcept {
    return !order.empty() ? order[0] : !journal.empty() ? journal[0] : !log.empty() ? log[0] : snapshot[0];
  }
  const Observation* row() const noexcept { return order.empty() ? nullptr : order.data(); }
};

void Reconcile::compare(std::vector<Observation> part) {
  std::sort(part.begin(), part.end(), [](const Observation& a, const Observation& b) {
    const auto order = [](const Observation& one) {
      return std::tuple(one.number, one.id.has_value(), one.id.value_or(ReservationId()).bytes(), one.source,
                        one.sequence);
    };
    return order(a) < order(b);
  });
  const std::span<const Observation> all(part);
  for (std::size_t begin = 0; begin < all.size();) {
    std::size_t end = begin + 1;
    while (end < all.size() && all[end].number == all[begin].number && all[end].id == all[begin].id) ++end;
    compare_group(all.subspan(begin, end - begin));
    begin = end;
  }
}

void Reconcile::compare_group(std::span<const Observation> all) {
  const auto place = items_.find(all[0].number.value());
  CHECK(place != items_.end());
  const auto of = [&](ObservationSource source) {
    const auto [first, last] = std::equal_range(all.begin(), all.end(), source, [](const auto& a, const auto& b) {
      const auto source_of = [](const auto& value) {
        if constexpr (std::is_same_v<std::decay_t<decltype(value)>, ObservationSource>)
          return value;
        else
          return value.source;
      };
      return source_of(a) < source_of(b);
    });
    return std::span<const Observation>(first, last);
  };
  const Group group{place->second, of(ObservationSource::snapshot), of(ObservationSource::log),
                    of(ObservationSource::journal), of(ObservationSource::order)};
  compare_journal(group);
  if (!all[0].of_item()) compare_order(group);
}

Difference Reconcile::difference(DifferenceKind kind, const ReconcileItem& item) const {
  Difference difference;
  difference.kind = kind;
  difference.item = item.item;
  difference.version = item.facts->version;
  difference.number = item.facts->number;
  difference.as_of = item.sequence;
  return difference;
}

void Reconcile::compare_journal(const Group& group) {
  ReconcileItem& item = group.item;
  const auto due = [&](Sequence sequence) { return sequence > item.begins && sequence <= item.sequence; };
  const auto report = [&](DifferenceKind kind, const Observation& row, std::string_view tables,
                          std::string_view server) {
    Difference found = difference(kind, item);
    found.key = fmt::format("sequence {}", row.sequence.value());
    found.tables = tables;
    found.server = server;
    found.sequence = row.sequence;
    found.mendable = due(row.sequence);
    out_.add(std::move(found));
  };
  auto change = group.log.begin();
  const auto next_change = [&](Sequence until) {
    for (; change != group.log.end() && change->sequence < until; ++change) {
      if (!due(change->sequence)) continue;
      ++item.gaps;
      report(DifferenceKind::gap, *change, "no row", fmt::format("LSN {}", change->lsn.value()));
    }
  };
  for (const Observation& row : group.journal) {
    next_change(row.sequence);
    const bool told = change != group.log.end() && change->sequence == row.sequence;
    if (due(row.sequence)) ++item.journal_rows;
    if (told && due(row.sequence) && change->digest != row.digest) {
      report(DifferenceKind::journal, row, fmt::format("LSN {}, another text", row.lsn.value()),
             fmt::format("LSN {}", change->lsn.value()));
    } else if (!told && (!due(row.sequence) || row.lsn >= log_begins_)) {
      report(DifferenceKind::journal, row, fmt::format("LSN {}", row.lsn.value()), "no such change");
    } else if (told && row.sequence > item.sequence) {
      report(DifferenceKind::journal, row, "a row already", "later than all that the tables have");
    }
    if (told) ++change;
  }
  next_change(Sequence(UINT64_MAX));
}

/// What the reservation was after this sequence; nothing: there was none that anybody knows of.
std::optional<Reconcile::Truth> Reconcile::truth_at(const Group& group, Sequence sequence) const {
  const auto last_of = [&](std::span<const Observation> source) -> const Observation* {
    const auto end = std::find_if(source.begin(), source.end(), [&](const auto& o) { return o.sequence > sequence; });
    return end == source.begin() ? nullptr : &*(end - 1);
  };
  const auto as_left_by = [](const Observation& change, bool by_server) {
    return Truth{&change, change.status, change.quantity, change.user, by_server};
  };
  const Observation* const logged = last_of(group.log);
  const Observation* const kept = last_of(group.snapshot);
  const Observation* const noted = last_of(group.journal);
  if (logged != nullptr && (kept == nullptr || logged->sequence >= kept->sequence)) return as_left_by(*logged, true);
  if (kept != nullptr) return as_left_by(*kept, true);
  if (!group.log.empty()) {
    const Observation& later = group.log.front();
    if (!later.from) return noted != nullptr ? std::optional(as_left_by(*noted, false)) : std::nullopt;
    const bool agrees = noted != nullptr && noted->status == *later.from;
    return Truth{agrees ? noted : nullptr, *later.from, later.quantity, later.user, true};
  }
  if (noted != nullptr) return as_left_by(*noted, false);
  return std::nullopt;
}

void Reconcile::compare_order(const Group& group) {
  ReconcileItem& item = group.item;
  const Observation& any = group.any();
  const auto now = truth_at(group, item.sequence);
  const bool told = now && now->by_server;
  if (told) {
    if (now->status == OrderStatus::pending) item.reserved += now->quantity;
    if (now->status == OrderStatus::paid) item.confirmed += now->quantity;
  }
  if (item.refused()) return;
  const auto place = chains_.find(ReconcileKey{item.facts->number, any.id.value()});
  const ChainFact chain = place == chains_.end() ? ChainFact() : place->second;
  const Sequence until = chain.open ? Sequence(chain.first.value() - 1) : item.sequence;
  const auto truth = chain.open ? truth_at(group, until) : now;
  if (!truth) {
    const Observation* const row = group.row();
    // Of an order that had ended when the tables began nobody else knows.
    const bool from_before = row != nullptr && row->sequence <= item.begins && !is_live(row->status);
    if (row != nullptr && !from_before) judge_unknown(group, "no such reservation");
    return;
  }
  if (is_live(truth->status) && !told && item.whole) return judge_unknown(group, "no such live reservation");
  if (is_live(truth->status)) item.sold += truth->quantity;
  // One that ended while it was parked may have left no row, which is missed only when something came after that.
  const bool ended_there = truth->change != nullptr && chain.last >= truth->change->sequence && !chain.open;
  const bool excused = !is_live(truth->status) && (ended_there || !outside_user_id(ids_, truth->user));
  judge_row(group, *truth, until, excused);
  judge_terms(group, until);
}

void Reconcile::judge_unknown(const Group& group, std::string_view why) {
  if (group.row() == nullptr) return;
  Difference found = difference(DifferenceKind::unknown, group.item);
  found.key = id_text(group.row()->id.value());
  found.tables = show(*group.row());
  found.server = why;
  out_.add(std::move(found));
}

/// A row needs a change and a user who can stand in it; one that is not there, what its RESERVE said, too: in the journal, or
/// from the log there.
bool Reconcile::can_write(const Group& group, const Truth& truth) const {
  if (truth.change == nullptr || !outside_user_id(ids_, truth.user)) return false;
  const auto begins = [&](const Observation& seen) {
    return seen.terms.begins_life() && seen.sequence <= truth.change->sequence;
  };
  return group.row() != nullptr || std::any_of(group.journal.begin(), group.journal.end(), begins) ||
         std::any_of(group.log.begin(), group.log.end(),
                     [&](const Observation& seen) { return begins(seen) && seen.sequence > group.item.begins; });
}

/// `until`: the truth is of this sequence.
void Reconcile::judge_row(const Group& group, const Truth& truth, Sequence until, bool excused) {
  const Observation* const row = group.row();
  if (row == nullptr && excused) return;
  const bool exact = truth.change != nullptr;
  const bool same_state = row != nullptr && row->status == truth.status &&
                          (!exact || row->sequence == truth.change->sequence || until != group.item.sequence);
  const bool same_body = row != nullptr && row->quantity == truth.quantity && row->user == truth.user;
  if (same_state && same_body) return;
  Difference found = difference(row == nullptr ? DifferenceKind::missing
                                : same_state   ? DifferenceKind::quantity
                                               : DifferenceKind::state,
                                group.item);
  found.key = id_text(group.any().id.value());
  found.tables = row == nullptr ? "no row" : show(*row);
  found.server = show(truth.status, truth.quantity, truth.user, exact ? truth.change->sequence : until);
  found.mendable = can_write(group, truth);
  if (exact) {
    found.expected = *truth.change;
    found.expected->status = truth.status;
    found.expected->quantity = truth.quantity;
    found.expected->user = truth.user;
  }
  if (row != nullptr) found.found = *row;
  out_.add(std::move(found));
}

/// After this sequence.
Reconcile::TermsTruth Reconcile::terms_at(const Group& group, Sequence sequence) const {
  TermsTruth truth;
  const auto follow = [&](std::span<const Observation> source, bool by_server) {
    for (const Observation& seen : source) {
      if (seen.sequence > sequence) break;
      const bool from_snapshot = seen.sequence <= group.item.begins;
      const OrderTermSet told = from_snapshot ? seen.terms.told.without(kFromSnapshot) : seen.terms.told;
      if (seen.terms.begins_life()) truth = {};
      truth.terms.take(seen.terms, told);
      truth.by_server = by_server ? truth.by_server.with(told) : truth.by_server.without(told);
    }
  };
  follow(group.journal, false);
  follow(group.snapshot, true);
  follow(group.log, true);
  return truth;
}

void Reconcile::judge_terms(const Group& group, Sequence until) {
  if (group.row() == nullptr) return;
  const TermsTruth truth = terms_at(group, until);
  const OrderTermSet differ = differing_terms(truth.terms, group.row()->terms);
  if (differ.empty()) return;
  Difference found = difference(DifferenceKind::terms, group.item);
  found.key = id_text(group.row()->id.value());
  found.tables = show_terms(group.row()->terms, differ);
  found.server = show_terms(truth.terms, differ);
  found.mendable = truth.by_server.includes(differ);
  found.expected = *group.row();
  found.expected->sequence = until;
  found.expected->terms = truth.terms;
  found.expected->terms.told = differ;
  found.found = *group.row();
  out_.add(std::move(found));
}

void Reconcile::finish() {
  for (auto& [number, item] : items_) finish_item(item);
}

void Reconcile::finish_item(ReconcileItem& item) {
  const std::uint64_t due = item.sequence.value() - std::min(item.begins, item.sequence).value();
  if (item.journal_rows + item.gaps < due) {
    Difference found = difference(DifferenceKind::gap, item);
    found.tables = fmt::format("{} rows less than sequences", due - item.journal_rows - item.gaps);
    found.server = "its log does not reach back so far";
    out_.add(std::move(found));
  }
  if (item.whole) check_law(item);
  if (!item.kept_out.empty() && item.live) {
    Difference found = difference(DifferenceKind::item, item);
    found.tables = fmt::format("no row, {}; all of it is parked", item.kept_out);
    found.server = fmt::format("version {}", item.facts->version.value());
    out_.add(std::move(found));
  }
  if (item.refused()) return;
  const bool same_version = item.row && item.row->version == item.facts->version;
  if (item.live && !same_version) {
    Difference found = difference(DifferenceKind::item, item);
    found.tables = item.row ? fmt::format("version {}", item.row->version.value()) : "no row";
    found.server = fmt::format("version {}", item.facts->version.value());
    out_.add(std::move(found));
  }
  if (!item.whole || !same_version || item.row->sold == item.sold) return;
  Difference found = difference(DifferenceKind::sold, item);
  found.tables = fmt::format("sold {} of {}", item.row->sold, item.row->quantity);
  found.server = fmt::format("{} without what is parked", item.sold);
  found.delta = item.sold - item.row->sold;
  found.mendable = item.sold <= item.row->quantity;
  out_.add(std::move(found));
}

void Reconcile::check_law(const ReconcileItem& item) {
  if (!item.counters || item.counters->sequence != item.sequence) return;
  const Counters& counters = item.counters->counters;
  const bool right = lawful(counters, item.counters->total) && counters.reserved == item.reserved &&
                     counters.confirmed == item.confirmed;
  if (right) return;
  Difference found = difference(DifferenceKind::law, item);
  found.server = fmt::format("{} available, {} reserved, {} confirmed, {} held of {}; its reservations: {} and {}",
                             counters.available, counters.reserved, counters.confirmed, counters.held,
                             item.counters->total, item.reserved, item.confirmed);
  out_.add(std::move(found));
}

std::optional<Difference> judge_cursor(const TablesPosition& position) {
  const bool one_time = position.lacks == Lsn() || position.has < position.lacks;
  const bool right = position.marked && one_time && position.cursor >= position.has &&
                     (position.lacks == Lsn() || position.cursor < position.lacks);
  if (right) return std::nullopt;
  Difference found;
  found.kind = DifferenceKind::cursor;
  found.tables = fmt::format("LSN {}", position.cursor.value());
  found.server = one_time ? fmt::format("the tables have everything through LSN {}{}", position.has.value(),
                                        position.lacks == Lsn() ? "" : ", and nothing later")
                          : fmt::format("the tables have LSN {}, and lack {}: they are not of one time",
                                        position.has.value(), position.lacks.value());
  found.mendable = one_time;
  found.cursor = position.cursor;
  found.lsn = position.has;
  return found;
}

}  // namespace holdfast
