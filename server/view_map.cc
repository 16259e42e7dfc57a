#include "server/view_map.h"

#include "server/item_view.h"
#include "server/limits.h"

namespace holdfast {

ViewMap::ViewMap(const ViewHashes& hashes) : hashes_(hashes), views_(0, NameHash{hashes}) {}

void ViewMap::learn(std::string_view item, const ItemView* view) {
  if (const auto known = views_.find(item); known != views_.end()) {
    names_.erase(known->second);
    known->second = view;
  } else {
    // Any will do: whose view is missed is told of it again.
    if (views_.size() == kViewsKnownMax) forget(views_.begin()->second);
    views_.emplace(item, view);
  }
  names_.insert_or_assign(view, item);
}

void ViewMap::forget(const ItemView* view) {
  const auto known = names_.find(view);
  if (known == names_.end()) return;
  views_.erase(known->second);
  names_.erase(known);
}

const ItemView* ViewMap::find(ItemName item) const {
  const auto known = views_.find(item.bytes());
  return known == views_.end() ? nullptr : known->second;
}

std::optional<Refusal> ViewMap::look(const ReserveRequest& request, const ViewTime& now) const {
  const ItemView* view = find(request.item);
  return view == nullptr ? std::nullopt : look(*view, request, now);
}

std::optional<Refusal> ViewMap::look(const ItemView& view, const ReserveRequest& request, const ViewTime& now) const {
  if (request.token) return std::nullopt;
  ViewQuestion question{request.quantity, hashes_.user(request.user), {}, now.hold, now.wall};
  if (request.id) question.id = hashes_.id(*request.id);
  return view.read(question);
}

std::optional<ReserveOutcome> ViewMap::answer(Words words, const ViewTime& now, ReplyWriter& reply) const {
  // Most items have no view while they sell: that is seen before anything else is parsed.
  const auto item = ItemName::parse(words[1]);
  const ItemView* view = item ? find(*item) : nullptr;
  if (view == nullptr) return std::nullopt;
  const auto request = parse_reserve(words);
  if (!request) return std::nullopt;
  const auto refusal = look(*view, *request, now);
  if (!refusal) return std::nullopt;
  write_refusal(reply, *refusal, request->details, now.wall);
  return refusal->outcome;
}

}  // namespace holdfast
