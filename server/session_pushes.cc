// What comes to a connection without being asked for: messages of channels, and the first notices of holdfast:items.
#include "server/item_notice.h"
#include "server/session.h"

#include <fmt/format.h>

namespace holdfast {

Subscriptions& Session::subscriptions() {
  if (subscriptions_ == nullptr) subscriptions_ = std::make_unique<Subscriptions>();
  return *subscriptions_;
}

/// Behind all replies before it in RESP2, and until what was last subscribed to is confirmed; else between replies.
void Session::push(ChannelKind kind, std::string_view name, std::string_view message) {
  if (closing_ || overflowed_ || subscriptions_ == nullptr || !subscriptions_->of(kind).contains(name)) return;
  overflowed_ = replies_.bytes() + late_pushes_.size() + message.size() > kSubscriberBytesMax;
  if (overflowed_) return;
  const char first = version_ == RespVersion::resp3 ? '>' : '*';
  const std::string_view rest = message.substr(1);
  if (executing_) {
    (late_pushes_ += first).append(rest);
    return;
  }
  confirming_ = confirming_ && !replies_.passed(confirmed_from_);
  if (version_ == RespVersion::resp3 && !confirming_) return replies_.insert(first, rest);
  (replies_.begin() += first).append(rest);
  replies_.end(false);
}

void Session::send_late_pushes() {
  replies_.begin() += late_pushes_;
  replies_.end(false);
  std::string().swap(late_pushes_);  // rare, and may have been large
}

bool Session::wants_notices() const noexcept {
  return reads_notices() && !subscriptions_->page_asked && !closing_ && replies_.bytes() < kNoticeRoomBytes;
}

void Session::ask_notices() {
  const fmt::format_int position(subscriptions_->readings.front().position);
  const std::string_view words[] = {"SUBSCRIBE", {position.data(), position.size()}};
  subscriptions_->page_slot = replies_.defer(false);
  subscriptions_->page_asked = true;
  const CommandEntry& entry = command_table()[static_cast<std::size_t>(CommandId::subscribe)];
  send({&entry, {key_, subscriptions_->page_slot}, version_, words});
}

void Session::take_page(ReplySlot slot, std::string_view bytes) {
  subscriptions_->page_asked = false;
  if (std::exchange(subscriptions_->page_dropped, false)) return replies_.fill(slot, {});
  NoticeReading& reading = subscriptions_->readings.front();
  NoticePage page(bytes);
  std::string pushes;
  for (std::string_view json; page.take(json);) {
    if (reading.kind == ChannelKind::pattern) {
      append_push(pushes, version_, {"pmessage", reading.pattern, kItemsChannel, json});
    } else {
      append_push(pushes, version_, {"message", kItemsChannel, json});
    }
  }
  reading.position = page.next();
  if (reading.position == 0) subscriptions_->readings.pop_front();
  replies_.fill(slot, pushes);
}

}  // namespace holdfast
