#include "storage/item_directory.h"

namespace holdfast {
namespace {

/// Takes item records alone.
class Learner final : public RecordVisitor {
 public:
  explicit Learner(ItemDirectory& directory) noexcept : directory_(directory) {}
  Result<void> on_item(const RecordStamp& stamp, const ItemRecord& record) override {
    directory_.learn(stamp, record);
    return {};
  }
  Result<void> on_reservation(const RecordStamp&, const ReservationRecord&) override { return {}; }
  Result<void> on_forget(const RecordStamp&, const ForgetRecord&) override { return {}; }
  Result<void> on_default_returns(const RecordStamp&, const DefaultReturnsRecord&) override { return {}; }

 private:
  ItemDirectory& directory_;
};

}  // namespace

void ItemDirectory::note(ItemNumber number, std::string_view name, ItemVersion version) {
  const auto [entry, fresh] = entries_.try_emplace(number.value());
  if (!fresh) return;
  entry->second = {std::string(name), version};
  ItemNumber& newest = newest_[entry->second.name];
  const Entry* known = find(newest);
  if (known == nullptr || known->version < version) newest = number;
}

void ItemDirectory::learn(const RecordStamp& stamp, const ItemRecord& record) {
  if (record.event == ItemEvent::load) {
    const auto before = newest_.find(std::string(record.name));
    if (before != newest_.end() && before->second != stamp.item) end(before->second, stamp.lsn);
  }
  note(stamp.item, record.name, record.version);
  if (record.event == ItemEvent::drop) end(stamp.item, stamp.lsn);
}

Result<void> ItemDirectory::learn(const BatchBody& body) {
  if (!count_records(body.bytes).items) return {};
  Learner learner(*this);
  const auto read = read_records(body, learner);
  return read ? Result<void>() : read.error();
}

const ItemDirectory::Entry* ItemDirectory::find(ItemNumber number) const noexcept {
  const auto found = entries_.find(number.value());
  return found == entries_.end() ? nullptr : &found->second;
}

void ItemDirectory::forget_before(Lsn oldest) {
  for (; !ended_.empty() && ended_.front().lsn < oldest; ended_.pop_front()) {
    const auto found = entries_.find(ended_.front().number.value());
    if (found == entries_.end()) continue;
    const auto newest = newest_.find(found->second.name);
    if (newest != newest_.end() && newest->second == ended_.front().number) newest_.erase(newest);
    entries_.erase(found);
  }
}

}  // namespace holdfast
