#include "tools/unit_story.h"

#include "storage/record_lines.h"
#include "tools/iso_time.h"

#include <fmt/format.h>

namespace holdfast {
namespace {

namespace json = boost::json;

ReservationState state_after(ReservationEvent event) noexcept {
  switch (event) {
    case ReservationEvent::reserve:
    case ReservationEvent::extend:
      return ReservationState::reserved;
    case ReservationEvent::confirm:
    case ReservationEvent::resume:
      return ReservationState::confirmed;
    case ReservationEvent::release:
      return ReservationState::released;
    case ReservationEvent::expire:
      return ReservationState::expired;
    case ReservationEvent::refund:
      return ReservationState::refunded;
  }
  return ReservationState::none;
}

bool is_live(ReservationState state) noexcept {
  return state == ReservationState::reserved || state == ReservationState::confirmed;
}

/// A moment of the hold clock as the wall clock stood to it at the record.
std::string at_wall(const RecordStamp& stamp, HoldTime time) { return iso_time(stamp.wall + (time - stamp.hold)); }

std::string units(Quantity quantity) {
  return quantity == Quantity(1) ? "1 unit" : fmt::format("{} units", quantity.value());
}

/// A person's words: only spaces are left as they are.
std::string readable(std::string_view text) {
  std::string shown;
  for (const char c : text) shown += c == ' ' ? std::string(1, c) : percent_escaped({&c, 1});
  return shown;
}

void show_counters(json::object& to, const Counters& counters) {
  to["available"] = counters.available;
  to["reserved"] = counters.reserved;
  to["confirmed"] = counters.confirmed;
  to["held"] = counters.held;
}

}  // namespace

json::object& UnitStory::tell(const RecordStamp& stamp, std::string_view event, std::string_view what) {
  json::object shown;
  shown["lsn"] = stamp.lsn.value();
  shown["time"] = iso_time(stamp.wall);
  if (stamp.sequence > Sequence()) shown["sequence"] = stamp.sequence.value();
  shown["event"] = std::string(event);
  shown["what"] = json::string(what);
  events_.push_back({stamp.item, std::move(shown)});
  return events_.back().shown;
}

Result<void> UnitStory::on_item(const RecordStamp& stamp, const ItemRecord& record) {
  if (record.name == item_) {
    if (record.event == ItemEvent::adjust && record.adjust_id == id_) {
      auto& shown =
          tell(stamp, event_name(record.event),
               fmt::format("this id is an ADJUST by {}, not a reservation: {}", record.delta, readable(record.reason)));
      show_counters(shown, record.after);
    }
    tell_of_version(stamp, record);
  }
  Version& version = versions_[stamp.item.value()];
  if (version.name.empty()) version.name = record.name;
  version.version = record.version;
  version.returns_held = record.returns_held;
  return {};
}

/// A version that ends takes its reservations with it.
void UnitStory::tell_of_version(const RecordStamp& stamp, const ItemRecord& record) {
  const bool load = record.event == ItemEvent::load;
  if (!load && record.event != ItemEvent::drop) return;
  for (auto& [number, unit] : units_) {
    const bool ends = load ? versions_[number].name == item_ : number == stamp.item.value();
    if (!ends || unit.state == ReservationState::none) continue;
    RecordStamp at = stamp;
    at.item = ItemNumber(number);
    at.sequence = load ? Sequence() : stamp.sequence;
    tell(at, event_name(record.event),
         load ? fmt::format("version {} was loaded: the server knows this reservation no more", record.version.value())
              : "the item was dropped: the server knows this reservation no more");
    unit.state = ReservationState::none;
  }
}

Result<void> UnitStory::on_reservation(const RecordStamp& stamp, const ReservationRecord& record) {
  if (record.id != id_) return {};
  auto& shown = tell(stamp, event_name(record.event), meaning(stamp, record));
  Unit& unit = units_[stamp.item.value()];
  unit.state = state_after(record.event);
  unit.sequence = stamp.sequence;
  shown["state"] = std::string(state_name(unit.state));
  shown["user"] = percent_escaped(record.user.text());
  shown["quantity"] = record.quantity.value();
  if (record.deadline) shown["deadline"] = at_wall(stamp, *record.deadline);
  show_counters(shown, record.after);
  return {};
}

std::string UnitStory::meaning(const RecordStamp& stamp, const ReservationRecord& record) const {
  const std::string taken = units(record.quantity);
  const std::string user = percent_escaped(record.user.text());
  const std::string until =
      record.deadline ? "until " + at_wall(stamp, *record.deadline) : std::string("without a deadline");
  const auto version = versions_.find(stamp.item.value());
  const bool held = version != versions_.end() && version->second.returns_held;
  const std::string back = record.write_off ? fmt::format("{} left the total (write-off)", taken)
                           : held           ? fmt::format("{} went to held, since returns are held", taken)
                                            : fmt::format("{} became available again", taken);
  switch (record.event) {
    case ReservationEvent::reserve:
      return fmt::format("user {} took {}, {}", user, taken, until);
    case ReservationEvent::confirm:
      return fmt::format("{} sold to user {}", taken, user);
    case ReservationEvent::resume:
      return fmt::format("confirmed after it had expired: {} taken again, sold to user {}", taken, user);
    case ReservationEvent::release:
      return fmt::format("released: {}", back);
    case ReservationEvent::expire:
      return fmt::format("not confirmed in time: {}", back);
    case ReservationEvent::refund:
      return fmt::format("refunded: {}", back);
    case ReservationEvent::extend:
      return fmt::format("kept for user {} {}", user, until);
  }
  return {};
}

Result<void> UnitStory::on_forget(const RecordStamp& stamp, const ForgetRecord& record) {
  const auto found = units_.find(stamp.item.value());
  if (found == units_.end()) return {};
  Unit& unit = found->second;
  if (unit.state == ReservationState::none || is_live(unit.state) || unit.sequence > record.through) return {};
  tell(stamp, "FORGET", "the ended reservation was forgotten: the same id would be a new request");
  unit.state = ReservationState::none;
  return {};
}

Result<void> UnitStory::on_default_returns(const RecordStamp&, const DefaultReturnsRecord&) { return {}; }

std::vector<json::object> UnitStory::events() const {
  std::vector<json::object> events;
  for (const Event& event : events_) {
    const auto version = versions_.find(event.number.value());
    const bool known = version != versions_.end();
    if (known && version->second.name != item_) continue;
    json::object shown = event.shown;
    if (known) {
      shown["item"] = percent_escaped(item_);
      shown["version"] = version->second.version.value();
    }
    shown["number"] = event.number.value();
    events.push_back(std::move(shown));
  }
  return events;
}

}  // namespace holdfast
