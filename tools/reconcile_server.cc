#include "tools/reconcile_server.h"

#include "protocol/outside_text.h"
#include "replication/journal_row.h"
#include "storage/record_reader.h"
#include "tools/served_snapshot.h"

namespace holdfast {
namespace {

/// `offered`: the item is known as it was then.
Observation observe(const Event& event, bool offered) {
  Observation seen;
  seen.number = event.item->number;
  seen.source = ObservationSource::log;
  seen.sequence = event.sequence;
  seen.lsn = event.lsn;
  seen.digest = journal_digest(journal_row(event));
  const auto* const reservation = event.reservation();
  if (reservation == nullptr) return seen;
  const OrderChange change = begin_change(event);
  seen.id = reservation->id;
  seen.status = change.to;
  seen.from = change.from;
  seen.quantity = reservation->quantity.value();
  seen.user = outside_text(reservation->user);
  seen.terms = terms_of(event, offered);
  return seen;
}

}  // namespace

/// A snapshot's reservations as observations.
class ReconcileServer::Rows final : public SnapshotAcceptor {
 public:
  Rows(ReconcileServer& server, ObservationSpill& spill) : server_(server), spill_(spill) {}

  Result<void> on_item(const SnapshotItem& item) override {
    const auto place = server_.items_.find(item.number.value());
    item_ = place == server_.items_.end() ? nullptr : &place->second;
    if (item_ == nullptr) return {};
    item_->whole = true;
    if (item.sequence <= item_->sequence) item_->counters = CountersAt{item.sequence, item.counters, item.total};
    return {};
  }

  Result<void> on_row(const SnapshotRow& row) override {
    if (item_ == nullptr) return {};
    server_.place(row.sequence <= item_->sequence, row.lsn);
    Observation seen;
    seen.number = item_->facts->number;
    seen.id = row.id;
    seen.source = ObservationSource::snapshot;
    seen.sequence = row.sequence;
    seen.lsn = row.lsn;
    seen.status = status_of(row.state);
    seen.quantity = row.quantity;
    seen.user = outside_text(row.user.text());
    seen.terms.told = {OrderTerm::exclusive};
    seen.terms.exclusive = row.exclusive;
    return spill_.add(seen);
  }

 private:
  ReconcileServer& server_;
  ObservationSpill& spill_;
  ReconcileItem* item_ = nullptr;  // none: the tables do not know it
};

/// The log's records as events of the items that the tables know.
class ReconcileServer::Changes final : public RecordAcceptor {
 public:
  Changes(ReconcileServer& server, const OnEvent& on_event) : server_(server), on_event_(on_event) {
    for (const auto& [number, item] : server.items_) {
      facts_[number] = item.facts;
      bootstrapped_ |= item.begins > Sequence();
    }
  }

  Result<void> on_item(const RecordStamp& stamp, const ItemRecord& record) override {
    const auto place = facts_.find(stamp.item.value());
    if (place == facts_.end()) return unknown(stamp);
    place->second = facts_of(stamp, record);
    return on_event_(event_of(stamp, record, place->second));
  }

  Result<void> on_reservation(const RecordStamp& stamp, const ReservationRecord& record) override {
    const auto place = facts_.find(stamp.item.value());
    if (place == facts_.end()) return unknown(stamp);
    return on_event_(event_of(stamp, record, place->second));
  }

 private:
  /// An item that was loaded later than what the tables have; or that had ended when tables began with a snapshot.
  Result<void> unknown(const RecordStamp& stamp) {
    if (stamp.sequence == Sequence(1)) loaded_.insert(stamp.item.value());
    if (!bootstrapped_ && loaded_.contains(stamp.item.value())) server_.place(false, stamp.lsn);
    return {};
  }

  ReconcileServer& server_;
  const OnEvent& on_event_;
  boost::unordered_flat_map<std::uint64_t, ItemFactsPointer> facts_;  // by number
  std::set<std::uint64_t> loaded_;                                    // unknown ones whose LOAD was seen
  bool bootstrapped_ = false;
};

void ReconcileServer::place(bool has, Lsn lsn) noexcept {
  if (has) {
    has_ = std::max(has_, lsn);
  } else if (lacks_ == Lsn() || lsn < lacks_) {
    lacks_ = lsn;
  }
}

Result<void> ReconcileServer::read(ObservationSpill& spill, const Progress& progress) {
  if (log_.oldest() > Lsn(1)) {
    HOLDFAST_TRY(read_snapshot(spill, progress));
  }
  const OnEvent on_event = [&](const Event& event) { return take(event, spill); };
  Changes changes(*this, on_event);
  return read_log(changes, progress);
}

Result<void> ReconcileServer::read_again(const OnEvent& on_event, const Progress& progress) {
  Changes changes(*this, on_event);
  return read_log(changes, progress);
}

Result<void> ReconcileServer::take(const Event& event, ObservationSpill& spill) {
  ++changes_;
  ReconcileItem& item = items_.at(event.item->number.value());
  const bool has = event.sequence <= item.sequence;
  place(has, event.lsn);
  if (event.is(ItemEvent::load)) item.whole = true;
  const bool newest = !item.counters || event.sequence > item.counters->sequence;
  if (has && newest) item.counters = CountersAt{event.sequence, event.after, total(event.after)};
  // Before the log's first change of the item as a whole, what is at hand is how the tables have it now.
  return spill.add(observe(event, event.item != item.facts));
}

Result<void> ReconcileServer::read_snapshot(ObservationSpill& spill, const Progress& progress) {
  ServedSnapshot served(log_);
  auto reader = served.fetch([&](std::uint64_t bytes) { progress("snapshot: bytes", bytes, 0); });
  if (!reader) return reader.error();
  Rows rows(*this, spill);
  HOLDFAST_TRY(reader->read(rows));
  return {};
}

Result<void> ReconcileServer::read_log(RecordVisitor& visitor, const Progress& progress) {
  return log_.read(log_.oldest(), [&](const BatchHeader& header, std::span<const std::byte> body) -> Result<bool> {
    const auto read = read_records({body, header.first_lsn, header.count, Lsn()}, visitor);
    if (!read) return read.error();
    progress("log: LSN", header.last_lsn().value(), log_.durable().value());
    return true;
  });
}

}  // namespace holdfast
