#include "tests/unit/server/item_model.h"

#include <algorithm>
#include <utility>

namespace holdfast::testing {
namespace {

constexpr std::int64_t kStockMax = (std::int64_t{1} << 53) - 1;
constexpr const char* kNoItem = "-NOITEM";

/// What a verb answers about a reservation that has ended.
std::string ended(ModelState state) {
  return state == ModelState::released ? "-3" : state == ModelState::expired ? "-4" : "-5";
}

}  // namespace

std::int64_t ModelItem::sum(ModelState wanted) const {
  std::int64_t sum = 0;
  for (const auto& row : rows) sum += row.state == wanted ? row.quantity : 0;
  return sum;
}

std::int64_t ModelItem::available() const {
  return total - held - sum(ModelState::reserved) - sum(ModelState::confirmed);
}

bool ModelItem::has_live() const {
  return std::any_of(rows.begin(), rows.end(), [](const auto& row) { return row.live(); });
}

ModelItem* Model::loaded(const std::string& name) {
  ModelItem& item = items[name];
  return item.state.empty() ? nullptr : &item;
}

std::int64_t Model::units(const ModelItem& item, const std::string& user) const {
  std::int64_t units = 0;
  for (const auto& [name, other] : items) {
    if (&other != &item && !(item.of_sale && other.of_sale)) continue;
    for (const auto& row : other.rows) units += row.live() && row.user == user ? row.quantity : 0;
  }
  return units;
}

bool Model::allows(const ModelItem& item, const std::string& user, std::int64_t quantity) const {
  return item.limit == 0 || quantity + units(item, user) <= item.limit;
}

void Model::change(ModelItem& item, ModelReservation& row, ModelState state) {
  row.state = state;
  row.order = ++orders_;
  ++item.sequence;
  if (row.live()) {
    for (auto& other : item.rows) other.resumable = other.resumable && other.user != row.user;
    return;
  }
  row.ended = now;
  if (item.holding) item.held += row.quantity;
  row.resumable = state == ModelState::expired &&
                  std::none_of(item.rows.begin(), item.rows.end(),
                               [&](const auto& other) { return other.user == row.user && other.live(); });
}

void Model::pass() {
  for (auto& [name, item] : items) {
    for (;;) {
      ModelReservation* due = nullptr;
      for (auto& row : item.rows) {
        if (row.state != ModelState::reserved || row.deadline > now) continue;
        if (due == nullptr || row.deadline < due->deadline) due = &row;
      }
      if (due == nullptr) break;
      change(item, *due, ModelState::expired);
    }
    std::erase_if(item.rows, [&](const auto& row) { return !row.live() && now - row.ended >= ended_retention; });
    while (std::count_if(item.rows.begin(), item.rows.end(), [](const auto& row) { return !row.live(); }) > ended_max) {
      item.rows.erase(std::min_element(item.rows.begin(), item.rows.end(), [](const auto& a, const auto& b) {
        return std::pair(a.live(), a.order) < std::pair(b.live(), b.order);
      }));
    }
  }
}

void Model::load(ModelItem& item, std::uint64_t version, std::int64_t stock) {
  ModelItem fresh;
  fresh.limit = item.limit;
  fresh.of_sale = item.of_sale;
  fresh.state = "OPEN";
  fresh.version = version;
  fresh.sequence = 3;
  fresh.total = stock;
  fresh.ttl = item.ttl;
  fresh.max_hold = item.max_hold;
  item = fresh;
}

std::string Model::create(const std::string& name, std::int64_t stock, std::int64_t limit, bool of_sale,
                          std::int64_t ttl, std::int64_t max_hold) {
  ModelItem& item = items[name];
  if (!item.state.empty()) return "";  // not asked: the fields as they were loaded are not kept here
  item.limit = limit;
  item.of_sale = of_sale;
  item.ttl = ttl;
  item.max_hold = max_hold;
  load(item, item.version + 1, stock);
  return "OK";
}

std::string Model::drop(const std::string& name, bool confirmed_too) {
  ModelItem* item = loaded(name);
  if (item == nullptr) return "0";
  if (item->sum(ModelState::reserved) > 0) return "-ERR";
  if (item->sum(ModelState::confirmed) > 0 && !confirmed_too) return "-ERR";
  const std::uint64_t version = item->version;
  *item = ModelItem();
  item->version = version;
  return "1";
}

std::string Model::move(const std::string& name, const std::string& step) {
  ModelItem* item = loaded(name);
  if (item == nullptr) return kNoItem;
  const std::string to = step == "PAUSE" ? "PAUSED" : step == "CLOSE" ? "CLOSED" : "OPEN";
  if (item->state == to) return "OK";
  if (item->state == "CLOSED") return "-ERR item is CLOSED";
  item->state = to;
  ++item->sequence;
  return "OK";
}

std::string Model::reserve(const std::string& name, const std::string& user, std::int64_t quantity,
                           const std::string& id, std::int64_t ttl) {
  ModelItem* item = loaded(name);
  if (item == nullptr) return kNoItem;
  for (const auto& row : item->rows) {
    if (id.empty() || row.id != id) continue;
    if (row.user != user) return "-IDMISMATCH user";
    if (row.quantity != quantity) return "-IDMISMATCH qty";
    return row.live() ? std::to_string(item->available()) : "-8";
  }
  if (!allows(*item, user, quantity)) return "-2";
  if (item->state == "CLOSED") return "-4";
  if (item->state == "PAUSED") return "-5";
  if (item->available() < quantity) return "-1";
  const std::int64_t deadline = now + std::min(ttl == 0 ? item->ttl : ttl, item->max_hold);
  item->rows.push_back({id, user, quantity, ModelState::reserved, now, deadline, 0, 0, false});
  change(*item, item->rows.back(), ModelState::reserved);
  return std::to_string(item->available());
}

Model::Found Model::addressed(ModelItem& item, const std::string& user, const std::string& id) {
  if (!id.empty()) {
    for (auto& row : item.rows) {
      if (row.id == id) return user == "-" || user == row.user ? Found{&row, ""} : Found{nullptr, "-IDMISMATCH user"};
    }
    return {nullptr, "-1"};
  }
  int reserved = 0;
  ModelReservation* best = nullptr;
  for (auto& row : item.rows) {
    if (row.user != user || !row.live()) continue;
    reserved += row.state == ModelState::reserved ? 1 : 0;
    if (best == nullptr || std::pair(row.state == ModelState::reserved, row.order) >
                               std::pair(best->state == ModelState::reserved, best->order)) {
      best = &row;
    }
  }
  if (reserved > 1) return {nullptr, "-ERR user has " + std::to_string(reserved) + " live reservations"};
  return best == nullptr ? Found{nullptr, "-1"} : Found{best, ""};
}

std::string Model::confirm(const std::string& name, const std::string& user, const std::string& id, bool resume_too) {
  ModelItem* item = loaded(name);
  if (item == nullptr) return kNoItem;
  const Found found = addressed(*item, user, id);
  if (found.row == nullptr) {
    if (!resume_too || found.refusal != "-1" || !id.empty()) return found.refusal;
    for (auto& row : item->rows) {
      if (row.user == user && row.resumable) return resume(*item, row, false);
    }
    return "-1";
  }
  if (found.row->state == ModelState::confirmed) return "1";
  if (found.row->state == ModelState::expired && resume_too) return resume(*item, *found.row, true);
  if (!found.row->live()) return ended(found.row->state);
  change(*item, *found.row, ModelState::confirmed);
  return "1";
}

std::string Model::resume(ModelItem& item, ModelReservation& row, bool by_id) {
  if (!allows(item, row.user, row.quantity) || item.available() < row.quantity) return by_id ? "-4" : "-1";
  change(item, row, ModelState::confirmed);
  return "1";
}

std::string Model::give_back(const std::string& name, const std::string& user, const std::string& id, bool refund,
                             bool write_off) {
  ModelItem* item = loaded(name);
  if (item == nullptr) return kNoItem;
  const Found found = addressed(*item, user, id);
  if (found.row == nullptr) return found.refusal;
  if (!found.row->live()) return ended(found.row->state);
  if ((found.row->state == ModelState::confirmed) != refund) return "-2";
  const bool held = item->holding && !write_off;
  item->total -= write_off ? found.row->quantity : 0;
  const bool holding = std::exchange(item->holding, held);
  change(*item, *found.row, refund ? ModelState::refunded : ModelState::released);
  item->holding = holding;
  return std::to_string(item->available());
}

std::string Model::extend(const std::string& name, const std::string& user, const std::string& id, std::int64_t ttl) {
  ModelItem* item = loaded(name);
  if (item == nullptr) return kNoItem;
  const Found found = addressed(*item, user, id);
  if (found.row == nullptr) return found.refusal;
  if (found.row->state == ModelState::confirmed) return "-2";
  if (!found.row->live()) return ended(found.row->state);
  const std::int64_t deadline = std::min(now + ttl, found.row->created + item->max_hold);
  if (deadline > found.row->deadline) {
    found.row->deadline = deadline;
    ++item->sequence;
  }
  return "deadline " + std::to_string(found.row->deadline);
}

std::string Model::adjust(const std::string& name, std::int64_t delta, const std::string& id) {
  ModelItem* item = loaded(name);
  if (item == nullptr) return kNoItem;
  if (const auto known = item->adjusts.find(id); known != item->adjusts.end()) {
    return known->second == delta ? std::to_string(item->available()) : "-IDMISMATCH";
  }
  if (delta < -item->available() || delta > kStockMax - item->total) return "-ERR delta";
  item->adjusts[id] = delta;
  item->total += delta;
  ++item->sequence;
  return std::to_string(item->available());
}

std::string Model::set_stock(const std::string& name, std::int64_t value) {
  ModelItem& item = items[name];
  if (item.state.empty()) {
    item.limit = 1;
    item.of_sale = false;
    load(item, item.version + 1, value);
    return "OK";
  }
  if (item.state == "CLOSED") {
    if (item.sum(ModelState::reserved) > 0) return "-ERR";
    load(item, item.version + 1, value);
    return "OK";
  }
  if (item.has_live()) return value == item.total ? "OK" : "-ERR";
  if (value < item.held) return "-ERR";
  item.sequence += value != item.total ? 1 : 0;
  item.total = value;
  return "OK";
}

std::string Model::add_stock(const std::string& name, std::int64_t delta) {
  ModelItem* item = loaded(name);
  if (item == nullptr) return kNoItem;
  if (item->state == "CLOSED" || item->has_live()) return "-ERR";
  if (delta < -item->available() || delta > kStockMax - item->total) return "-ERR";
  item->total += delta;
  item->sequence += delta != 0 ? 1 : 0;
  return std::to_string(item->available());
}

std::string Model::set_limit(const std::string& name, std::int64_t limit, std::int64_t expected) {
  ModelItem* item = loaded(name);
  if (item == nullptr) return kNoItem;
  if (item->limit != expected) return "-ERR LIMIT is '" + std::to_string(item->limit) + "'";
  item->sequence += limit != expected ? 1 : 0;
  item->limit = limit;
  return "OK";
}

std::string Model::returns(const std::string& name, bool hold) {
  ModelItem* item = loaded(name);
  if (item == nullptr) return kNoItem;
  item->sequence += item->holding != hold ? 1 : 0;
  item->holding = hold;
  if (!hold) item->held = 0;
  return "OK";
}

std::string Model::is_buyer(const std::string& name, const std::string& user) {
  const ModelItem& item = items[name];
  return std::any_of(item.rows.begin(), item.rows.end(),
                     [&](const auto& row) { return row.user == user && row.live(); })
             ? "1"
             : "0";
}

std::string Model::buyers(const std::string& name) {
  std::vector<std::string> users;
  for (const auto& row : items[name].rows) {
    if (row.live()) users.push_back(row.user);
  }
  std::sort(users.begin(), users.end());
  return std::to_string(std::unique(users.begin(), users.end()) - users.begin());
}

std::string Model::state_of(const std::string& name, const std::string& id) {
  const ModelItem* item = loaded(name);
  if (item == nullptr) return kNoItem;
  for (const auto& row : item->rows) {
    if (row.id == id) {
      constexpr const char* kStates[] = {"RESERVED", "CONFIRMED", "RELEASED", "EXPIRED", "REFUNDED"};
      return kStates[static_cast<std::size_t>(row.state)];
    }
  }
  return "nil";
}

}  // namespace holdfast::testing
