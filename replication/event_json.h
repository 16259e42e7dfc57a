// Events and items as JSON, as sinks write them and read them back. Names are outside texts (protocol/outside_text.h),
// times Unix milliseconds; integers up to 2^53-1 are numbers, larger ones texts. No state; any thread.
#pragma once

#include "replication/event.h"

#include <boost/json/fwd.hpp>
#include <optional>

namespace holdfast {

/// One event: what happened, to what, when, and the counters after it. `itemId` and `userId` are numbers where the names
/// are (outside_id.h), else the names; `item` is always the name.
boost::json::object event_to_json(const Event& event);
/// A reservation as a placed order: who has how much of what, at which price, until when. REQUIRES: a RESERVE.
boost::json::object order_to_json(const Event& event);

/// The object that a text is, as JSON; nothing: it is none.
std::optional<boost::json::object> object_in(std::string_view text);
/// A member from 0 on as sinks write it, a number or the text of one; nothing: there is none.
std::optional<std::uint64_t> natural_in(const boost::json::object& from, std::string_view name);

/// All of an item, so that a sink can keep it.
boost::json::object facts_to_json(const ItemFacts& item);
/// What facts_to_json made. An error for anything else.
Result<ItemFactsPointer> facts_from_json(std::string_view text);

}  // namespace holdfast
