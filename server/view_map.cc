#include "server/view_map.h"

#include "server/item_view.h"
#include "server/limits.h"

#include <utility>

namespace holdfast {

ViewMap::ViewMap(const ViewHashes& hashes) : hashes_(hashes), views_(0, NameHash{hashes}) {}

void ViewMap::learn(std::string_view item, const ItemView* view, const ViewOwner& owner) {
  if (const auto known = views_.find(item); known != views_.end()) {
    names_.erase(known->second.view);
    known->second = {view, owner, 0};
  } else {
    // Any will do: whose view is missed is told of it again.
    if (views_.size() == kViewsKnownMax) forget(views_.begin()->second.view);
    views_.emplace(item, Known{view, owner, 0});
  }
  names_.insert_or_assign(view, item);
}

void ViewMap::forget(const ItemView* view) {
  const auto known = names_.find(view);
  if (known == names_.end()) return;
  views_.erase(known->second);
  names_.erase(known);
}

std::optional<Refusal> ViewMap::look(const ReserveRequest& request, const ViewTime& now) const {
  const auto known = views_.find(request.item.bytes());
  return known == views_.end() ? std::nullopt : look(*known->second.view, request, now);
}

std::optional<Refusal> ViewMap::look(const ItemView& view, const ReserveRequest& request, const ViewTime& now) const {
  if (request.token) return std::nullopt;
  ViewQuestion question{request.quantity, hashes_.user(request.user), {}, now.hold, now.wall};
  if (request.id) question.id = hashes_.id(*request.id);
  return view.read(question);
}

std::optional<ReserveOutcome> ViewMap::answer(Words words, const ViewTime& now, ReplyWriter& reply) {
  // Most items have no view while they sell: that is seen before anything else is parsed.
  const auto item = ItemName::parse(words[1]);
  const auto known = item ? views_.find(item->bytes()) : views_.end();
  if (known == views_.end()) return std::nullopt;
  const auto request = parse_reserve(words);
  if (!request) return std::nullopt;
  const auto refusal = look(*known->second.view, *request, now);
  if (!refusal) return std::nullopt;
  ++known->second.asked;
  write_refusal(reply, *refusal, request->details, now.wall);
  return refusal->outcome;
}

std::vector<ViewAsked> ViewMap::take_asked() {
  std::vector<ViewAsked> asked;
  for (auto& [name, known] : views_) {
    if (known.asked > 0) asked.push_back({known.owner, std::exchange(known.asked, 0)});
  }
  return asked;
}

}  // namespace holdfast
