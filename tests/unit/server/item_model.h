// What the contract says of reservations, written down once more as plainly as possible: lists that are walked, no
// indexes, no records. For the property test. One thread at a time.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::testing {

enum class ModelState : std::uint8_t { reserved, confirmed, released, expired, refunded };

struct ModelReservation {
  std::string id;  // empty: made by the server
  std::string user;
  std::int64_t quantity = 0;
  ModelState state = ModelState::reserved;
  std::int64_t created = 0;
  std::int64_t deadline = 0;
  std::int64_t ended = 0;
  std::uint64_t order = 0;  // of its last change but EXTEND
  bool resumable = false;   // expired as his last live one, and he reserved nothing since
  bool live() const { return state <= ModelState::confirmed; }
};

struct ModelItem {
  std::string state;  // "OPEN" ...; empty: not loaded
  std::uint64_t version = 0;
  std::uint64_t sequence = 0;
  std::int64_t total = 0;
  std::int64_t held = 0;
  std::int64_t limit = 1;
  std::int64_t ttl = 600'000;
  std::int64_t max_hold = 1'800'000;
  bool of_sale = false;
  bool holding = false;
  std::vector<ModelReservation> rows;
  std::map<std::string, std::int64_t> adjusts;

  std::int64_t sum(ModelState wanted) const;
  std::int64_t available() const;
  bool has_live() const;
};

/// Replies are texts as ReplyValue writes them; an error is its beginning.
class Model {
 public:
  std::map<std::string, ModelItem> items;
  std::int64_t now = 0;  // hold clock, ms
  std::int64_t ended_max = INT64_MAX;
  std::int64_t ended_retention = INT64_MAX;

  /// All that is due expires, by deadline; then ended ids are forgotten.
  void pass();

  std::string create(const std::string& name, std::int64_t stock, std::int64_t limit, bool of_sale, std::int64_t ttl,
                     std::int64_t max_hold);
  std::string drop(const std::string& name, bool confirmed_too);
  std::string move(const std::string& name, const std::string& step);
  std::string reserve(const std::string& name, const std::string& user, std::int64_t quantity, const std::string& id,
                      std::int64_t ttl);
  std::string confirm(const std::string& name, const std::string& user, const std::string& id, bool resume);
  /// RELEASE, or REFUND.
  std::string give_back(const std::string& name, const std::string& user, const std::string& id, bool refund,
                        bool write_off);
  /// Answers "deadline " and the hold time.
  std::string extend(const std::string& name, const std::string& user, const std::string& id, std::int64_t ttl);
  std::string adjust(const std::string& name, std::int64_t delta, const std::string& id);
  std::string set_stock(const std::string& name, std::int64_t value);
  std::string add_stock(const std::string& name, std::int64_t delta);
  std::string set_limit(const std::string& name, std::int64_t limit, std::int64_t expected);
  std::string returns(const std::string& name, bool hold);
  std::string is_buyer(const std::string& name, const std::string& user);
  std::string buyers(const std::string& name);
  /// The state of an id: "nil", or in capitals.
  std::string state_of(const std::string& name, const std::string& id);

 private:
  struct Found {
    ModelReservation* row = nullptr;
    std::string refusal;
  };
  ModelItem* loaded(const std::string& name);
  std::int64_t units(const ModelItem& item, const std::string& user) const;
  bool allows(const ModelItem& item, const std::string& user, std::int64_t quantity) const;
  Found addressed(ModelItem& item, const std::string& user, const std::string& id);
  void change(ModelItem& item, ModelReservation& row, ModelState state);
  std::string resume(ModelItem& item, ModelReservation& row, bool by_id);
  void load(ModelItem& item, std::uint64_t version, std::int64_t stock);

  std::uint64_t orders_ = 0;
};

}  // namespace holdfast::testing
