// A record as one line for people or programs: "key=value" pairs or a JSON object, with the same keys. One thread.
#pragma once

#include "storage/log_inspect.h"
#include "storage/record_reader.h"

#include <boost/json/object.hpp>

namespace holdfast {

/// The object as JSON, or as "key=value" pairs with a space between them.
std::string render(const boost::json::object& object, bool json);

/// Bytes that are not printable ASCII, spaces and '%' as %XX.
std::string percent_escaped(std::string_view bytes);

/// Gives a line for every record it is driven with.
class RecordLines final : public RecordVisitor, public RecordExtras {
 public:
  RecordLines(const DumpOptions& options, const LineSink& out) : options_(options), out_(out) {}

  Result<void> on_item(const RecordStamp& stamp, const ItemRecord& record) override;
  Result<void> on_reservation(const RecordStamp& stamp, const ReservationRecord& record) override;
  Result<void> on_forget(const RecordStamp& stamp, const ForgetRecord& record) override;
  Result<void> on_default_returns(const RecordStamp& stamp, const DefaultReturnsRecord& record) override;
  void on_clock(const RecordStamp& stamp) override;
  void on_unknown(const RecordStamp& stamp, std::uint8_t type, std::size_t bytes) override;

 private:
  bool wanted(const RecordStamp& stamp) const noexcept {
    return stamp.lsn >= options_.from && stamp.lsn <= options_.through;
  }
  void put(const RecordStamp& stamp, std::string_view event, boost::json::object fields);

  const DumpOptions& options_;
  const LineSink& out_;
};

}  // namespace holdfast
