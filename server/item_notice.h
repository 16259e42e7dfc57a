// What subscribers of holdfast:items are told: an item stopped or started selling. Data, and its text as JSON:
//
//   {"event":"sold_out","item":"item:1001","version":1,"sequence":14,"state":"OPEN","available":0}
//
// The item's name as design texts outside the server have it, see outside_text.h. No state; any thread.
#pragma once

#include "protocol/types.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace holdfast {

struct Item;

/// The channel of these notices.
inline constexpr std::string_view kItemsChannel = "holdfast:items";

/// Why an item does not sell, if it does not. A fenced one is told as paused, a dropped one as closed.
/// `unknown` is no answer of selling_of: what was told before no longer counts.
enum class Selling : std::uint8_t { reopened, sold_out, paused, closed, not_open, unknown };

Selling selling_of(const Item& item) noexcept;

struct ItemNotice {
  std::string item;
  Selling event{};
  ItemVersion version;
  Sequence sequence;
  std::string_view state;  // static text
  std::int64_t available = 0;
};

ItemNotice make_notice(const Item& item);
std::string notice_json(const ItemNotice& notice);

/// A page of notices on its way from the owner to a connection: where the next page begins (0: nowhere), and texts.
class NoticePage {
 public:
  /// For the owner: the bytes of an empty page.
  static std::string begin();
  static void add(std::string& page, std::string_view json);
  static void set_next(std::string& page, std::uint64_t cursor);

  /// For the connection. REQUIRES: bytes made so.
  explicit NoticePage(std::string_view page);
  std::uint64_t next() const noexcept { return next_; }
  /// Takes the next text; false at the end.
  bool take(std::string_view& json);

 private:
  std::uint64_t next_ = 0;
  std::string_view rest_;
};

}  // namespace holdfast
