#include "replication/reconcile.h"

#include "replication/observation_spill.h"
#include "tests/unit/replication/log_maker.h"

#include "tests/doctest.h"

using namespace holdfast;
using namespace holdfast::test;

namespace {

constexpr auto kPending = OrderStatus::pending;
constexpr auto kPaid = OrderStatus::paid;
constexpr auto kExpired = OrderStatus::expired;

/// One item of which the tables have ten changes, and what is said of its reservation 1.
struct Bench {
  Bench() {
    ReconcileItem item;
    item.facts = std::make_shared<const ItemFacts>(
        ItemFacts{ItemNumber(7), "a", ItemVersion(1), ItemState::open, false, false, false, {}});
    item.item = item.item_id = "a";
    item.live = item.whole = true;
    item.sequence = item.begins = Sequence(10);  // so that the journal need not be there
    item.row = ItemRowFound{ItemVersion(1), 100, 0};
    items[7] = std::move(item);
  }
  ReconcileItem& item() { return items[7]; }

  Bench& say(ObservationSource source, std::uint64_t sequence, OrderStatus status,
             std::optional<OrderStatus> from = {}) {
    Observation seen;
    seen.number = ItemNumber(7);
    seen.id = id_of(1);
    seen.source = source;
    seen.sequence = Sequence(sequence);
    seen.lsn = Lsn(100 + sequence);
    seen.status = status;
    seen.from = from;
    seen.quantity = 1;
    seen.digest = sequence;
    seen.user = "u";
    said.push_back(seen);
    return *this;
  }
  Bench& snapshot(std::uint64_t sequence, OrderStatus status) {
    return say(ObservationSource::snapshot, sequence, status);
  }
  Bench& log(std::uint64_t sequence, OrderStatus status, std::optional<OrderStatus> from = {}) {
    return say(ObservationSource::log, sequence, status, from);
  }
  Bench& journal(std::uint64_t sequence, OrderStatus status) {
    return say(ObservationSource::journal, sequence, status);
  }
  Bench& order(std::uint64_t sequence, OrderStatus status) { return say(ObservationSource::order, sequence, status); }
  Bench& parked(std::uint64_t first) {
    chains[{ItemNumber(7), id_of(1)}] = {true, Sequence(first), Sequence()};
    return *this;
  }
  Bench& was_parked(std::uint64_t last) {
    chains[{ItemNumber(7), id_of(1)}] = {false, Sequence(), Sequence(last)};
    return *this;
  }

  /// Kinds that differ, "missing state"; what is sold agrees with what should be.
  std::string kinds() {
    Differences out;
    Reconcile reconcile(items, chains, ids, Lsn(1), out);
    reconcile.compare(said);
    item().row->sold = item().sold;
    reconcile.finish();
    std::string text;
    for (const Difference& difference : out.kept())
      text += (text.empty() ? "" : " ") + std::string(kind_name(difference.kind));
    return text;
  }

  ReconcileItems items;
  ReconcileChains chains;
  OutsideIds ids = OutsideIds::text;
  std::vector<Observation> said;
};

}  // namespace

TEST_CASE("reconcile: a row is to be as the last change that the tables have left it") {
  CHECK(Bench().log(3, kPending).log(5, kPaid, kPending).order(5, kPaid).kinds().empty());
  CHECK(Bench().log(3, kPending).log(5, kPaid, kPending).order(3, kPending).kinds() == "state");
  CHECK(Bench().log(3, kPending).log(5, kPaid, kPending).order(4, kPaid).kinds() == "state");
  CHECK(Bench().log(3, kPending).log(12, kPaid, kPending).order(3, kPending).kinds().empty());
  CHECK(Bench().log(3, kPending).kinds() == "missing");
  CHECK(Bench().order(3, kPending).kinds() == "unknown");
  Bench other;
  other.log(3, kPending).order(3, kPending);
  other.said.back().quantity = 2;
  CHECK(other.kinds() == "quantity");
}

TEST_CASE(
    "reconcile: what the log does not have, the snapshot says; what is later than the tables, the log takes back") {
  CHECK(Bench().snapshot(5, kPaid).order(5, kPaid).kinds().empty());
  CHECK(Bench().snapshot(5, kPaid).order(3, kPending).kinds() == "state");
  // The snapshot is later than the tables: the first change behind them tells what was before it.
  CHECK(Bench().snapshot(14, kPaid).log(14, kPaid, kPending).order(3, kPending).kinds().empty());
  CHECK(Bench().snapshot(14, kPaid).log(14, kPaid, kPending).order(3, kExpired).kinds() == "state");
  CHECK(Bench().snapshot(14, kPending).log(14, kPending).kinds().empty());
}

TEST_CASE("reconcile: what the server has forgotten, the journal says, but not that it lives") {
  Bench forgotten;
  forgotten.item().begins = Sequence(8);
  forgotten.item().sequence = Sequence(9);
  forgotten.journal(9, kExpired).order(9, kExpired).log(12, kPending);
  forgotten.said[0].lsn = Lsn();  // before the log begins
  CHECK(forgotten.kinds().empty());
  Bench gone;
  gone.item().begins = Sequence(9);
  gone.journal(10, kPending).order(10, kPending);
  gone.said[0].lsn = Lsn();  // before the log begins
  CHECK(gone.kinds() == "unknown");
  gone.item() = Bench().item();
  // Of an order that ended before the tables began nobody else knows.
  CHECK(Bench().order(4, kExpired).kinds().empty());
}

TEST_CASE("reconcile: an id of zeros is a reservation's, not a change of the item") {
  Bench zeros;
  zeros.log(3, kPending).order(3, kPending);
  Observation of_item = zeros.said.front();
  of_item.id.reset();
  of_item.sequence = Sequence(2);
  for (Observation& seen : zeros.said) seen.id = ReservationId();
  zeros.said.push_back(of_item);
  CHECK(zeros.kinds().empty());
  CHECK(zeros.item().sold == 1);
  zeros.said.erase(zeros.said.begin() + 1);
  CHECK(zeros.kinds() == "missing");
}

TEST_CASE("reconcile: of what is parked, the row is as it was before that") {
  CHECK(Bench().log(3, kPending).log(5, kPaid, kPending).order(3, kPending).parked(5).kinds().empty());
  CHECK(Bench().log(3, kPending).log(5, kPaid, kPending).parked(3).kinds().empty());
  CHECK(Bench().log(3, kPending).log(5, kPaid, kPending).parked(5).kinds() == "missing");
  CHECK(Bench().log(3, kPending).order(3, kPending).parked(3).kinds() == "unknown");
  CHECK(Bench().log(3, kPending).log(5, kExpired, kPending).was_parked(5).kinds().empty());
  CHECK(Bench().log(3, kPending).log(5, kPaid, kPending).was_parked(5).kinds() == "missing");
  // What ended there without a row, and came to life again, has nothing to go on from.
  const auto resumed = [] {
    Bench made;
    made.log(3, kPending).log(5, kExpired, kPending).log(7, kPaid, kExpired);
    made.chains[{ItemNumber(7), id_of(1)}] = {true, Sequence(7), Sequence(5)};
    return made;
  };
  CHECK(resumed().kinds() == "missing");
  CHECK(resumed().order(5, kExpired).kinds().empty());
  // A user who has no number can have no row where users are numbers.
  Bench numbers = resumed();
  numbers.ids = OutsideIds::bigint;
  CHECK(numbers.kinds().empty());
}

TEST_CASE("reconcile: of an item without a row all is parked, and whose place is taken is named") {
  Bench refused;
  refused.item().item_id.clear();
  CHECK(refused.log(3, kPending).kinds().empty());
  refused.item().kept_out = "foreign_row";
  CHECK(refused.kinds() == "item");
  refused.item().live = false;
  CHECK(refused.kinds().empty());
}

TEST_CASE("reconcile: the journal has each change that the tables have, as the log says it, and no other") {
  const auto bench = [] {
    Bench made;
    made.item().begins = Sequence(9);
    return made;
  };
  CHECK(bench().log(10, kPending).journal(10, kPending).order(10, kPending).kinds().empty());
  CHECK(bench().log(10, kPending).order(10, kPending).kinds() == "gap");
  Bench differs = bench();
  differs.log(10, kPending).journal(10, kPending).order(10, kPending).said[1].digest = 0;
  CHECK(differs.kinds() == "journal");
  CHECK(bench()
            .log(10, kPending)
            .journal(10, kPending)
            .order(10, kPending)
            .log(11, kPaid, kPending)
            .journal(11, kPaid)
            .kinds() == "journal");
  CHECK(bench().log(10, kPending).journal(10, kPending).journal(9, kPaid).order(10, kPending).kinds() == "journal");
  CHECK(bench().kinds() == "gap");
}

TEST_CASE("reconcile: the law is of counters and of reservations") {
  Bench right;
  right.item().counters = CountersAt{Sequence(10), {8, 1, 0, 1}, 10};
  CHECK(right.log(3, kPending).order(3, kPending).kinds().empty());
  for (const Counters& counters :
       {Counters{8, 1, 0, 2}, Counters{9, 0, 0, 1}, Counters{8, 0, 1, 1}, Counters{-1, 1, 0, 10}}) {
    Bench wrong;
    wrong.item().counters = CountersAt{Sequence(10), counters, 10};
    CHECK(wrong.log(3, kPending).order(3, kPending).kinds() == "law");
  }
}

TEST_CASE("reconcile: an item's row is of its version, and sold is what lives and is not parked") {
  Bench bench;
  bench.item().row->version = ItemVersion(2);
  CHECK(bench.kinds() == "item");
  bench.item().row.reset();
  Differences out;
  Reconcile(bench.items, bench.chains, bench.ids, Lsn(1), out).finish();
  CHECK(out.count(DifferenceKind::item) == 1);
  Bench sold;
  Differences found;
  Reconcile reconcile(sold.items, sold.chains, sold.ids, Lsn(1), found);
  reconcile.compare(sold.log(3, kPending).order(3, kPending).said);
  reconcile.finish();
  REQUIRE(found.count() == 1);
  CHECK(found.kept()[0].kind == DifferenceKind::sold);
  CHECK(found.kept()[0].delta == 1);
}

TEST_CASE("reconcile: a cursor is right between what the tables have and what they lack") {
  CHECK(!judge_cursor({Lsn(10), Lsn(10), Lsn(11)}));
  CHECK(!judge_cursor({Lsn(12), Lsn(10), Lsn(15)}));
  CHECK(!judge_cursor({Lsn(12), Lsn(10), Lsn()}));
  for (const TablesPosition& moved :
       {TablesPosition{Lsn(9), Lsn(10), Lsn(15)}, TablesPosition{Lsn(15), Lsn(10), Lsn(15)}}) {
    const auto found = judge_cursor(moved);
    REQUIRE(found);
    CHECK(found->mendable);
    CHECK(found->lsn == Lsn(10));
  }
  const auto by_hand = judge_cursor({Lsn(12), Lsn(10), Lsn(15), false});
  REQUIRE(by_hand);
  CHECK(by_hand->lsn == Lsn(10));
  const auto torn = judge_cursor({Lsn(10), Lsn(12), Lsn(11)});
  REQUIRE(torn);
  CHECK(!torn->mendable);
}

TEST_CASE("reconcile: differences are counted, and a bounded number is kept") {
  Differences out;
  for (std::size_t i = 0; i < kDifferencesMax + 5; ++i) out.add({});
  CHECK(out.count() == kDifferencesMax + 5);
  CHECK(out.kept().size() == kDifferencesMax);
}

namespace {

/// Terms with a price, times at it, and what of them is told.
OrderTerms terms(std::int64_t price, OrderTermSet told) {
  OrderTerms made;
  made.told = told;
  made.exclusive = price % 2 == 0;
  made.price = price;
  made.offer = offer_digest(price, "EUR", "");
  made.reserved_at_ms = price;
  made.expires_at_ms = price;
  return made;
}
constexpr OrderTermSet kAll = {OrderTerm::exclusive, OrderTerm::offer, OrderTerm::reserved_at, OrderTerm::expires_at};
constexpr OrderTermSet kByJournal = {OrderTerm::exclusive, OrderTerm::reserved_at, OrderTerm::expires_at};

/// What differs of terms: "mendable: what the server says".
std::string found_terms(Bench& bench) {
  Differences out;
  Reconcile(bench.items, bench.chains, bench.ids, Lsn(1), out).compare(bench.said);
  std::string text;
  for (const Difference& found : out.kept()) {
    if (found.kind == DifferenceKind::terms) text += (found.mendable ? "mendable: " : "") + found.server;
  }
  return text;
}

}  // namespace

TEST_CASE("reconcile: an order's terms are those of its RESERVE and of its last EXTEND") {
  Bench bench;
  bench.item().begins = Sequence(2);
  bench.log(3, kPending).log(5, kPending, kPending).log(12, kPending, kPending).order(5, kPending);
  bench.said[0].terms = terms(500, kAll);
  bench.said[1].terms = terms(700, {OrderTerm::expires_at});
  bench.said[2].terms = terms(900, {OrderTerm::expires_at});
  OrderTerms& row = bench.said[3].terms;
  row = terms(500, kAll);
  row.expires_at_ms = 700;
  CHECK(found_terms(bench).empty());
  row.expires_at_ms = 500;
  CHECK(found_terms(bench) == "mendable: expires at 700");
  row.expires_at_ms.reset();
  row.exclusive = false;
  CHECK(found_terms(bench) == "mendable: exclusive, expires at 700");
  row = terms(800, kAll);
  CHECK(found_terms(bench) == "mendable: price 500 with its currency and sale, reserved at 500, expires at 700");
  // Of what the tables began with, what came later, and what a snapshot says as the log does.
  bench.item().begins = Sequence(3);
  CHECK(found_terms(bench) == "mendable: expires at 700");
  row.exclusive = false;
  CHECK(found_terms(bench) == "mendable: exclusive, expires at 700");
  // Of one that is parked, what came before that.
  bench.item().begins = Sequence(2);
  row = terms(500, kAll);
  bench.parked(5);
  CHECK(found_terms(bench).empty());
}

TEST_CASE("reconcile: a RESUME says anew whether an order is its user's only one") {
  Bench bench;
  bench.item().begins = Sequence(2);
  bench.log(3, kPending).log(4, kExpired, kPending).log(5, kPaid, kExpired).order(5, kPaid);
  bench.said[0].terms = terms(500, kAll);
  bench.said[2].terms = terms(501, {OrderTerm::exclusive});
  bench.said[3].terms = terms(500, kAll);
  CHECK(found_terms(bench) == "mendable: not exclusive");
  bench.said[3].terms.exclusive = false;
  CHECK(found_terms(bench).empty());
}

TEST_CASE("reconcile: a second life has terms of its own") {
  Bench bench;
  bench.item().begins = Sequence(2);
  bench.log(3, kPending).log(4, kExpired, kPending).log(5, kPending).order(5, kPending);
  bench.said[0].terms = terms(500, kAll);
  bench.said[2].terms = terms(600, {OrderTerm::exclusive, OrderTerm::reserved_at, OrderTerm::expires_at});
  bench.said[3].terms = terms(600, kAll);
  CHECK(found_terms(bench).empty());
  bench.said[3].terms = terms(500, kAll);
  CHECK(found_terms(bench) == "mendable: reserved at 600, expires at 600");
}

TEST_CASE("reconcile: terms that only the journal tells are for a person, those of the log and the snapshot are not") {
  Bench bench;
  bench.item().begins = Sequence(2);
  bench.journal(3, kPending).snapshot(5, kPaid).log(5, kPaid, kPending).order(5, kPaid);
  bench.said[0].terms = terms(500, kByJournal);
  bench.said[1].terms = terms(500, {OrderTerm::exclusive});
  bench.said[3].terms = terms(502, kAll);
  CHECK(found_terms(bench) == "reserved at 500, expires at 500");
  bench.said[3].terms = terms(500, kAll);
  bench.said[3].terms.exclusive = false;
  CHECK(found_terms(bench) == "mendable: exclusive");
  // The log's word goes before the journal's.
  bench.log(3, kPending);
  bench.said.back().terms = terms(600, kAll);
  bench.said[3].terms = terms(600, kAll);
  CHECK(found_terms(bench).empty());
}

TEST_CASE("reconcile: the spill gives back what it got, each reservation in one part") {
  auto spill = ObservationSpill::make();
  REQUIRE(spill.has_value());
  Bench bench;
  bench.log(3, kPending).log(5, kPaid, kPending).order(5, kPaid).snapshot(4, kExpired).journal(3, kPending);
  bench.said[0].terms = terms(500, kAll);
  bench.said[2].terms = terms(501, kByJournal);
  bench.said[2].terms.expires_at_ms.reset();
  for (const Observation& seen : bench.said) REQUIRE(spill->add(seen).has_value());
  std::vector<Observation> back;
  for (std::size_t part = 0; part < kReconcileParts; ++part) {
    const auto taken = spill->take(part);
    REQUIRE(taken.has_value());
    CHECK((taken->empty() || back.empty()));
    back.insert(back.end(), taken->begin(), taken->end());
  }
  REQUIRE(back.size() == bench.said.size());
  for (std::size_t i = 0; i < back.size(); ++i) {
    CHECK(back[i].sequence == bench.said[i].sequence);
    CHECK(back[i].from == bench.said[i].from);
    CHECK(back[i].user == "u");
    CHECK(back[i].lsn == bench.said[i].lsn);
    CHECK(back[i].terms == bench.said[i].terms);
    CHECK(back[i].source == bench.said[i].source);
  }
}
