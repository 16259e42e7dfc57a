// One reservation's life as the log tells it: what happened to an id of an item, in order, each with what it means.
// Driven by a log's reader; decides, and does no I/O. One thread.
#pragma once

#include "storage/record.h"

#include <boost/json/object.hpp>
#include <boost/unordered/unordered_flat_map.hpp>

#include <string>
#include <vector>

namespace holdfast {

class UnitStory final : public RecordVisitor {
 public:
  UnitStory(std::string item, const ReservationId& id) : item_(std::move(item)), id_(id) {}

  Result<void> on_item(const RecordStamp& stamp, const ItemRecord& record) override;
  Result<void> on_reservation(const RecordStamp& stamp, const ReservationRecord& record) override;
  Result<void> on_forget(const RecordStamp& stamp, const ForgetRecord& record) override;
  Result<void> on_default_returns(const RecordStamp& stamp, const DefaultReturnsRecord& record) override;

  /// What happened, in order; `item` and `version` are missing where the log does not reach back to the item's LOAD.
  std::vector<boost::json::object> events() const;

 private:
  struct Version {
    std::string name;  // empty: not known
    ItemVersion version;
    bool returns_held = false;
  };
  /// The reservation of one version of an item.
  struct Unit {
    ReservationState state = ReservationState::none;
    Sequence sequence;  // of its last change
  };
  struct Event {
    ItemNumber number;
    boost::json::object shown;
  };
  boost::json::object& tell(const RecordStamp& stamp, std::string_view event, std::string_view what);
  void tell_of_version(const RecordStamp& stamp, const ItemRecord& record);
  std::string meaning(const RecordStamp& stamp, const ReservationRecord& record) const;

  std::string item_;
  ReservationId id_;
  boost::unordered_flat_map<std::uint64_t, Version> versions_;  // by item number
  boost::unordered_flat_map<std::uint64_t, Unit> units_;        // by item number
  std::vector<Event> events_;
};

}  // namespace holdfast
