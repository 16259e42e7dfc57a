#include "replication/sink_items.h"

#include "tests/doctest.h"

using namespace holdfast;

namespace {

ItemFactsPointer facts(std::uint64_t number, const std::string& name, std::uint64_t version, bool dropped = false) {
  ItemFacts item;
  item.number = ItemNumber(number);
  item.name = name;
  item.version = ItemVersion(version);
  item.dropped = dropped;
  return std::make_shared<const ItemFacts>(item);
}

}  // namespace

TEST_CASE("sink_items: the newest facts of an item are found by its number") {
  SinkItems items;
  items.put(facts(1, "a", 1));
  items.put(facts(2, "b", 1));
  const auto newer = facts(1, "a", 1);
  items.put(newer);
  CHECK(items.find(ItemNumber(1)) == newer);
  CHECK(items.find(ItemNumber(3)) == nullptr);
  CHECK(items.size() == 2);
}

TEST_CASE("sink_items: versions that have ended are not kept") {
  SinkItems items;
  for (std::uint64_t number = 1; number <= 100; ++number) items.put(facts(number, "a", number));
  CHECK(items.size() == 1);
  CHECK(items.find(ItemNumber(99)) == nullptr);
  items.put(facts(100, "a", 100, true));
  CHECK(items.size() == 0);
  CHECK(items.find(ItemNumber(100)) == nullptr);
  items.put(facts(101, "a", 101));
  CHECK(items.find(ItemNumber(101)) != nullptr);
}
