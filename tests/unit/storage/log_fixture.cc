#include "tests/unit/storage/log_fixture.h"

#include "storage/log_walk.h"
#include "storage/record_reader.h"

#include <fmt/format.h>

namespace holdfast::test {
namespace {

std::string describe(const RecordStamp& stamp) {
  return fmt::format("{} {} {} {}", to_ms(stamp.hold), to_ms(stamp.wall), stamp.item.value(), stamp.sequence.value());
}

std::string describe(const Counters& c) {
  return fmt::format("{}/{}/{}/{}", c.available, c.reserved, c.confirmed, c.held);
}

std::string describe(const ReservationId& id) {
  const auto text = id.text();
  return {text.data(), text.size()};
}

std::string describe(const ItemDefinition& d) {
  return fmt::format("{} {} {} {} {} {} {} {} [{}] [{}] [{}]", d.stock, d.limit, scope_name(d.scope), d.ttl.count(),
                     d.max_hold.count(), to_ms(d.opens_at), to_ms(d.closes_at), d.price, d.currency, d.sale, d.product);
}

}  // namespace

std::string describe(const RecordStamp& stamp, const ItemRecord& r) {
  return fmt::format("item {} {} {} [{}] {} {} {} {} ({}) {} {} {} {} [{}]", static_cast<int>(r.event), describe(stamp),
                     r.by_window, r.name, r.version.value(), state_name(r.state), r.returns_held, r.fenced,
                     describe(r.definition), describe(r.after), r.total, r.delta, describe(r.adjust_id), r.reason);
}

std::string describe(const RecordStamp& stamp, const ReservationRecord& r) {
  return fmt::format("reservation {} {} {} {} {} [{}] {} {} {}", static_cast<int>(r.event), describe(stamp),
                     r.exclusive, r.write_off, describe(r.id), r.user.text(), r.quantity.value(),
                     r.deadline ? to_ms(*r.deadline) : -1, describe(r.after));
}

std::string describe(const RecordStamp& stamp, const ForgetRecord& r) {
  return fmt::format("forget {} {} {}", describe(stamp), r.through.value(), r.count);
}

std::string describe(const RecordStamp& stamp, const DefaultReturnsRecord& r) {
  return fmt::format("default-returns {} {}", describe(stamp), r.held);
}

std::int64_t RecordMaker::number(std::int64_t max) {
  // Small ones as often as large ones.
  const auto bits = dice_.below(64);
  const auto value = static_cast<std::int64_t>(dice_.next() >> bits >> 1);
  return max == INT64_MAX ? value : value % (max + 1);
}

std::string RecordMaker::text(std::size_t bytes_max) {
  std::string text(dice_.below(bytes_max + 1), ' ');
  for (char& c : text) c = static_cast<char>(dice_.below(256));
  return text;
}

Counters RecordMaker::counters() {
  return {number(kStockMax), number(kStockMax), number(kStockMax), number(kStockMax)};
}

ReservationId RecordMaker::id() {
  std::array<std::uint8_t, ReservationId::kBytes> bytes;
  dice_.fill(bytes);
  return ReservationId(bytes);
}

UserId RecordMaker::user() {
  switch (dice_.below(3)) {
    case 0:
      return UserId::from_number(dice_.next() >> dice_.below(64));
    case 1:
      user_text_.resize(16);
      for (char& c : user_text_) c = static_cast<char>(dice_.below(256));
      return UserId::from_uuid(user_text_);
    default:
      user_text_ = "u" + text(kUserBytesMax - 1);
      return UserId::from_bytes(user_text_);
  }
}

RecordStamp RecordMaker::stamp() {
  const auto step = static_cast<std::int64_t>(dice_.chance(1, 20) ? dice_.below(100'000) : dice_.below(2));
  hold_ms_ += step;
  wall_ms_ += dice_.chance(1, 30) ? 2 * step : step;
  return {Lsn(), hold_time(hold_ms_), wall_time(wall_ms_), ItemNumber(1 + dice_.below(200)),
          Sequence(1 + static_cast<std::uint64_t>(number(static_cast<std::int64_t>(kSequenceMax) - 1)))};
}

std::string RecordMaker::add_reserve(RecordSink& sink, RecordPosition& position) {
  RecordStamp at{Lsn(), hold_time(hold_ms_), wall_time(wall_ms_), ItemNumber(1'000'000), Sequence(++sequence_)};
  ReservationRecord record;
  record.event = ReservationEvent::reserve;
  record.exclusive = true;
  record.id = id();
  record.user = UserId::from_number(dice_.next());
  record.quantity = Quantity(1);
  record.deadline = at.hold + std::chrono::minutes(10);
  record.after = counters();
  position = sink.on_reservation(at, record);
  return describe(at, record);
}

std::string RecordMaker::add(RecordSink& sink, RecordPosition& position) {
  RecordStamp at = stamp();
  const auto kind = dice_.below(10);
  if (kind == 0) {
    at.sequence = Sequence();
    const ForgetRecord record{Sequence(dice_.below(1000)), static_cast<std::uint32_t>(dice_.below(1025))};
    position = sink.on_forget(at, record);
    return describe(at, record);
  }
  if (kind == 1) {
    at.sequence = Sequence();
    at.item = ItemNumber();
    const DefaultReturnsRecord record{dice_.chance(1, 2)};
    position = sink.on_default_returns(at, record);
    return describe(at, record);
  }
  if (kind <= 3) {
    ItemRecord record;
    name_ = "i" + text(kItemNameBytesMax - 1);
    reason_ = text(kReasonBytesMax);
    record.event = static_cast<ItemEvent>(1 + dice_.below(12));
    record.by_window = dice_.chance(1, 2);
    record.name = name_;
    record.version = ItemVersion(1 + static_cast<std::uint64_t>(number(INT64_MAX - 1)));
    record.state = static_cast<ItemState>(dice_.below(5));
    record.returns_held = dice_.chance(1, 2);
    record.fenced = dice_.chance(1, 2);
    record.definition = {number(kStockMax),
                         number(kStockMax),
                         dice_.chance(1, 2) ? LimitScope::sale : LimitScope::item,
                         Millis(number(INT64_MAX)),
                         Millis(number(INT64_MAX)),
                         wall_time(number(INT64_MAX)),
                         wall_time(-number(INT64_MAX)),
                         -number(INT64_MAX),
                         text(kCurrencyBytesMax),
                         text(kLabelBytesMax),
                         text(kLabelBytesMax)};
    record.after = counters();
    record.after.held = -record.after.held;  // a fence may say so
    record.total = number(kStockMax);
    record.delta = -number(kStockMax);
    if (record.event == ItemEvent::adjust) {
      record.adjust_id = id();
      record.reason = reason_;
    }
    position = sink.on_item(at, record);
    return describe(at, record);
  }
  ReservationRecord record;
  record.event = static_cast<ReservationEvent>(1 + dice_.below(7));
  record.exclusive = dice_.chance(1, 2);
  record.write_off = dice_.chance(1, 2);
  record.id = id();
  record.user = user();
  record.quantity = Quantity(number(kStockMax));
  if (dice_.chance(1, 2)) record.deadline = hold_time(number(INT64_MAX));
  record.after = counters();
  position = sink.on_reservation(at, record);
  return describe(at, record);
}

LogDriver::LogDriver(SimulatedDisk& disk, VirtualClock& clock, std::uint64_t seed, FsyncPolicy fsync)
    : maker(seed), disk_(disk), clock_(clock), random_(seed) {
  settings.directory = "/data/log";
  settings.segment_bytes = kSegmentBytesMin;
  settings.fsync = fsync;
  settings.notice = [this](std::string_view line) { notices.emplace_back(line); };
}

Result<void> LogDriver::recover() {
  auto opened = LogRecovery::open(disk_, clock_, random_, settings);
  if (!opened) return opened.error();
  recovery = std::move(*opened);
  SnapshotAcceptor snapshot;
  if (const auto restored = recovery->restore(snapshot); !restored) return restored.error();
  Lister lister;
  const auto found = recovery->replay(lister);
  if (!found) return found.error();
  recovered = *found;
  lines = std::move(lister.lines);
  return tells_true_state ? follow() : Result<void>();
}

/// The hasher reads what the log holds.
Result<void> LogDriver::follow() {
  auto walk = LogWalk::open(disk_, settings.directory);
  if (!walk) return walk.error().code() == ErrorCode::not_found ? Result<void>() : walk.error();
  for (auto step = walk->next(); step != LogWalk::Step::end; step = walk->next()) {
    if (step == LogWalk::Step::segment) continue;
    const FoundBatch& batch = walk->batch();
    const auto read = read_records({batch.body, batch.header.first_lsn, batch.header.count, Lsn()}, hasher_);
    if (!read) return read.error();
  }
  return {};
}

Result<void> LogDriver::start() {
  auto started = Log::start(std::move(recovery));
  if (!started) return started.error();
  log = std::move(*started);
  return {};
}

Result<void> LogDriver::open() {
  HOLDFAST_TRY(recover());
  return start();
}

Result<bool> LogDriver::write(std::size_t records) {
  const std::size_t count = 1 + (records > 3 ? maker.dice().below(3) : 0);
  std::vector<Group*> batch;
  Lsn next = log->written_lsn();
  in_flight.clear();
  for (std::size_t index = 0; index < count; ++index) {
    if (groups_.size() <= index) groups_.push_back(std::make_unique<Group>(ShardIndex(0), 16_KiB));
    Group& group = *groups_[index];
    group.open(GroupOrdinal(++ordinal_));
    for (std::size_t record = 0; record < records; ++record) {
      RecordPosition position = 0;
      auto line = maker.add(group, position);
      in_flight.emplace(Lsn(next.value() + 1 + position), std::move(line));
    }
    next = Lsn(next.value() + group.record_count());
    group.seal(state_after(next));
    batch.push_back(&group);
  }
  const auto room = log->make_room(batch);
  if (!room || !*room) return room;
  const auto state = state_of(batch, next);
  if (!state) return state.error();
  HOLDFAST_TRY(log->commit(batch, *state));
  lines.merge(in_flight);
  in_flight.clear();
  return true;
}

Result<StateHash> LogDriver::state_of(std::span<Group* const> batch, Lsn next) {
  if (!tells_true_state) return state_after(next);
  for (const Group* group : batch) {
    const auto read = read_records({group->bytes(), Lsn(1), group->record_count(), Lsn()}, hasher_);
    if (!read) return read.error();
  }
  return hasher_.state();
}

StateHash state_after(Lsn lsn) noexcept { return {lsn.value() * 0x9e3779b97f4a7c15u, ~lsn.value()}; }

bool extends(const Lines& later, const Lines& earlier, const Lines& maybe) {
  if (later.size() < earlier.size()) return false;
  auto at = later.begin();
  for (const auto& line : earlier) {
    if (*at++ != line) return false;
  }
  auto expected = maybe.begin();
  for (; at != later.end(); ++at, ++expected) {
    if (expected == maybe.end() || *at != *expected) return false;
  }
  return true;
}

}  // namespace holdfast::test
