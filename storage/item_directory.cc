#include "storage/item_directory.h"

namespace holdfast {
namespace {

/// Takes item records alone.
class Learner final : public RecordAcceptor {
 public:
  explicit Learner(ItemDirectory& directory) noexcept : directory_(directory) {}
  Result<void> on_item(const RecordStamp& stamp, const ItemRecord& record) override {
    directory_.learn(stamp, record);
    return {};
  }

 private:
  ItemDirectory& directory_;
};

}  // namespace

void ItemDirectory::note(ItemNumber number, std::string_view name, ItemVersion version, Lsn last) {
  const auto [entry, fresh] = entries_.try_emplace(number.value());
  if (!fresh) return;
  entry->second = {std::string(name), version, last};
  const auto [newest, first] = newest_.try_emplace(entry->second.name, number);
  if (first) return;
  const Entry* before = find(newest->second);
  if (before != nullptr && before->version > version) return end(number, last);
  if (before != nullptr) end(newest->second, before->last);
  newest->second = number;
}

void ItemDirectory::learn(const RecordStamp& stamp, const ItemRecord& record) {
  if (record.event == ItemEvent::load) {
    const auto before = newest_.find(std::string(record.name));
    if (before != newest_.end() && before->second != stamp.item) {
      end(before->second, stamp.lsn);
      newest_.erase(before);
    }
  }
  note(stamp.item, record.name, record.version, stamp.lsn);
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
  while (!ended_.empty() && ended_.begin()->first < oldest) {
    const ItemNumber number = ended_.begin()->second;
    ended_.erase(ended_.begin());
    const auto found = entries_.find(number.value());
    if (found == entries_.end()) continue;
    const auto newest = newest_.find(found->second.name);
    if (newest != newest_.end() && newest->second == number) newest_.erase(newest);
    entries_.erase(found);
  }
}

}  // namespace holdfast
