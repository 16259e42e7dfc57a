#include "storage/group.h"
#include "storage/limits.h"
#include "storage/record_reader.h"
#include "tests/unit/storage/log_fixture.h"

#include "tests/doctest.h"

namespace holdfast::test {
namespace {

BatchBody body_of(const Group& group) { return {group.bytes(), Lsn(1), group.record_count(), Lsn()}; }

Lines read_back(const Group& group) {
  Lister lister;
  const auto summary = read_records(body_of(group), lister);
  REQUIRE(said(summary) == "");
  CHECK(summary->visited == lister.lines.size());
  CHECK(summary->wall_max >= group.wall_max());
  return lister.lines;
}

}  // namespace

TEST_CASE("records: whatever is written is read back, with its stamp") {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    CAPTURE(seed);
    RecordMaker maker(seed);
    Group group(ShardIndex(0), 64_KiB);
    group.open(GroupOrdinal(1));
    Lines expected;
    for (int index = 0; index < 60; ++index) {
      RecordPosition position = 0;
      auto line = maker.add(group, position);
      expected.emplace(Lsn(1 + position), std::move(line));
    }
    CHECK(read_back(group) == expected);
  }
}

TEST_CASE("records: a RESERVE with a number as user and default options takes at most 96 bytes") {
  RecordMaker maker(1);
  Group group(ShardIndex(0), 1_MiB);
  group.open(GroupOrdinal(1));
  std::size_t longest = 0;
  std::size_t before = kClockRecordBytes;
  int count = 0;
  for (; !group.wants_seal(); ++count) {
    RecordPosition position = 0;
    maker.add_reserve(group, position);
    longest = std::max(longest, group.bytes().size() - before);
    before = group.bytes().size();
  }
  MESSAGE("longest " << longest << ", on average " << group.bytes().size() / static_cast<std::size_t>(count));
  CHECK(longest <= 96);
}

TEST_CASE("records: any changed byte is read without harm") {
  RecordMaker maker(7);
  Group group(ShardIndex(0), 64_KiB);
  group.open(GroupOrdinal(1));
  for (int index = 0; index < 30; ++index) {
    RecordPosition position = 0;
    maker.add(group, position);
  }
  std::vector<std::byte> bytes(group.bytes().begin(), group.bytes().end());
  RecordAcceptor ignorer;
  int refused = 0;
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      bytes[at] ^= std::byte(1U << bit);
      if (read_records({bytes, Lsn(1), group.record_count(), Lsn()}, ignorer).has_error()) ++refused;
      bytes[at] ^= std::byte(1U << bit);
    }
  }
  CHECK(refused > 0);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    CHECK(read_records({std::span(bytes).first(size), Lsn(1), group.record_count(), Lsn()}, ignorer).has_error());
  }
}

TEST_CASE("records: an unknown ignorable type is skipped and keeps its LSN, an unknown critical one is refused") {
  Group group(ShardIndex(0), 64_KiB);
  group.open(GroupOrdinal(1));
  group.on_default_returns({Lsn(), hold_time(5), wall_time(6), ItemNumber(), Sequence()}, {true});
  std::vector<std::byte> bytes(group.bytes().begin(), group.bytes().end());
  for (const int byte : {7, 0, 0xc5, 0, 0, 0, 42}) bytes.push_back(static_cast<std::byte>(byte));
  const auto known = group.bytes().subspan(kClockRecordBytes);
  bytes.insert(bytes.end(), known.begin(), known.end());
  Lister lister;
  REQUIRE(said(read_records({bytes, Lsn(1), 4, Lsn()}, lister)) == "");
  CHECK(lister.lines.size() == 2);
  CHECK(lister.lines.count(Lsn(4)) == 1);

  bytes[group.bytes().size() + 2] = std::byte{0x45};
  const auto refused = read_records({bytes, Lsn(1), 4, Lsn()}, lister);
  REQUIRE(refused.has_error());
  CHECK(refused.error().code() == ErrorCode::unsupported);
}

TEST_CASE("group: begins with a CLOCK record and writes another where a stamp does not fit the offset") {
  Group group(ShardIndex(3), 64_KiB);
  group.open(GroupOrdinal(9));
  CHECK(group.empty());
  const auto add = [&](std::int64_t hold, std::int64_t wall) {
    return group.on_default_returns({Lsn(), hold_time(hold), wall_time(wall), ItemNumber(), Sequence()}, {true});
  };
  CHECK(add(1000, 5000) == 1);
  CHECK(add(1000 + 65535, 5000 + 65535) == 2);
  CHECK(add(1000 + 65536, 5000 + 65536) == 4);  // too far
  CHECK(add(1001 + 65536, 5000 + 65536) == 6);  // the clocks came apart
  CHECK(add(1000 + 65536, 4999 + 65536) == 8);  // back
  CHECK(group.record_count() == 9);
  CHECK(group.wall_max() == wall_time(5000 + 65536));
  CHECK(read_back(group).size() == 5);
}

TEST_CASE("group: is used again without its old records, and wants to be sealed at its size") {
  Group group(ShardIndex(0), 200);
  for (std::uint64_t ordinal = 1; ordinal <= 3; ++ordinal) {
    group.open(GroupOrdinal(ordinal));
    RecordMaker maker(ordinal);
    while (!group.wants_seal()) {
      RecordPosition position = 0;
      maker.add_reserve(group, position);
    }
    CHECK(group.record_count() >= 4);
    CHECK(group.record_count() <= 5);
    group.seal({1, 2});
    group.place(Lsn(10 * ordinal));
    CHECK(group.first_lsn() == Lsn(10 * ordinal));
    CHECK(group.state() == StateHash{1, 2});
  }
  CHECK(group.shard() == ShardIndex(0));
}

}  // namespace holdfast::test
