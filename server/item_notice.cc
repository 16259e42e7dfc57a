#include "server/item_notice.h"

#include "protocol/check.h"
#include "protocol/outside_text.h"
#include "server/item.h"

#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include <cstring>

namespace holdfast {
namespace {

std::string_view event_name(Selling event) noexcept {
  constexpr std::string_view kNames[] = {"reopened", "sold_out", "paused", "closed", "not_open", "unknown"};
  return kNames[static_cast<std::size_t>(event)];
}

}  // namespace

Selling selling_of(const Item& item) noexcept {
  switch (item.state) {
    case ItemState::draft:
    case ItemState::ready:
      return Selling::not_open;
    case ItemState::paused:
      return Selling::paused;
    case ItemState::closed:
      return Selling::closed;
    case ItemState::open:
      break;
  }
  if (item.fenced) return Selling::paused;
  return item.counters.available > 0 ? Selling::reopened : Selling::sold_out;
}

ItemNotice make_notice(const Item& item) {
  return {item.named->name, selling_of(item),       item.version,
          item.sequence,    state_name(item.state), item.counters.available};
}

std::string notice_json(const ItemNotice& notice) {
  const boost::json::object object{{"event", event_name(notice.event)},
                                   {"item", outside_text(notice.item)},
                                   {"version", notice.version.value()},
                                   {"sequence", notice.sequence.value()},
                                   {"state", notice.state},
                                   {"available", notice.available}};
  return boost::json::serialize(object);
}

std::string NoticePage::begin() { return std::string(sizeof(std::uint64_t), '\0'); }

void NoticePage::add(std::string& page, std::string_view json) {
  const auto size = static_cast<std::uint32_t>(json.size());
  page.append(reinterpret_cast<const char*>(&size), sizeof size).append(json);
}

void NoticePage::set_next(std::string& page, std::uint64_t cursor) { std::memcpy(page.data(), &cursor, sizeof cursor); }

NoticePage::NoticePage(std::string_view page) : rest_(page.substr(sizeof next_)) {
  std::memcpy(&next_, page.data(), sizeof next_);
}

bool NoticePage::take(std::string_view& json) {
  if (rest_.empty()) return false;
  std::uint32_t size = 0;
  CHECK(rest_.size() >= sizeof size);
  std::memcpy(&size, rest_.data(), sizeof size);
  json = rest_.substr(sizeof size, size);
  CHECK(json.size() == size);
  rest_.remove_prefix(sizeof size + size);
  return true;
}

}  // namespace holdfast
