#include "server/gather.h"

#include "protocol/check.h"
#include "protocol/reply_writer.h"

#include <algorithm>

namespace holdfast {
namespace {

constexpr std::string_view kEnd = "\r\n";
constexpr std::string_view kNullBulk = "$-1\r\n";
constexpr std::string_view kNull = "_\r\n";

/// Integers and arrays are the same in both versions of the protocol.
ReplyWriter writer(std::string& out) { return {out, RespVersion::resp2}; }

/// The number in a header of this type, which leaves the bytes.
std::uint64_t take_header(std::string_view& bytes, char type) {
  const auto end = bytes.find(kEnd);
  std::uint64_t number = 0;
  CHECK(end != std::string_view::npos && bytes.front() == type);
  CHECK(parse_canonical(bytes.substr(1, end - 1), INT64_MAX, number));
  bytes.remove_prefix(end + kEnd.size());
  return number;
}

/// The first bulk or null, which leaves the bytes.
std::string_view take_element(std::string_view& bytes) {
  const std::string_view from = bytes;
  if (bytes.starts_with(kNullBulk)) {
    bytes.remove_prefix(kNullBulk.size());
  } else if (bytes.starts_with(kNull)) {
    bytes.remove_prefix(kNull.size());
  } else {
    const std::uint64_t size = take_header(bytes, '$');
    CHECK(bytes.size() >= kEnd.size() && size <= bytes.size() - kEnd.size());
    bytes.remove_prefix(size + kEnd.size());
  }
  return from.substr(0, from.size() - bytes.size());
}

}  // namespace

Gather::Way Gather::way_of(CommandId id) {
  switch (id) {
    case CommandId::dbsize:
    case CommandId::exists:
    case CommandId::touch:
    case CommandId::del:
    case CommandId::unlink:
      return Way::add;
    case CommandId::item_verify:
      return Way::join;
    case CommandId::mget:
      return Way::weave;
    case CommandId::item_returns:
      return Way::any;
    default:
      CHECK(false);
  }
}

std::span<const Gather::Part> Gather::plan(const CommandEntry& entry, Words words, const Router& router) {
  CHECK(awaited_ == 0 && answers_.empty());
  const Route::Kind kind = router.route(entry, words).kind;
  CHECK(kind != Route::Kind::one);
  way_ = way_of(entry.id);
  parts_.clear();
  if (kind == Route::Kind::all) {
    plan_all(words, router);
  } else {
    plan_keys(words, router);
  }
  for (const Part& part : parts_) answers_.push_back({part.shard, false, {}});
  awaited_ = answers_.size();
  return parts_;
}

void Gather::plan_all(Words words, const Router& router) {
  words_.assign(words.begin(), words.end());
  for (std::uint16_t shard = 0; shard < router.count(); ++shard) parts_.push_back({ShardIndex(shard), words_});
}

/// Each owner gets the command's name and its keys, in their order; a key that comes twice goes twice.
void Gather::plan_keys(Words words, const Router& router) {
  const Words keys = words.subspan(1);
  std::vector<std::uint16_t> counts(router.count());
  owners_.clear();
  for (const std::string_view key : keys) {
    const std::uint16_t shard = router.owner_of(key, true).value();
    owners_.push_back(shard);
    ++counts[shard];
  }
  const auto owners = static_cast<std::size_t>(std::count_if(counts.begin(), counts.end(), [](auto n) { return n; }));
  words_.clear();
  words_.reserve(keys.size() + owners);  // the parts view it while it grows
  std::vector<std::uint16_t> part_of(router.count());
  for (std::uint16_t shard = 0; shard < router.count(); ++shard) {
    if (counts[shard] == 0) continue;
    const std::size_t begin = words_.size();
    words_.push_back(words[0]);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (owners_[i] == shard) words_.push_back(keys[i]);
    }
    part_of[shard] = static_cast<std::uint16_t>(parts_.size());
    parts_.push_back({ShardIndex(shard), Words(words_).subspan(begin)});
  }
  for (std::uint16_t& owner : owners_) owner = part_of[owner];
}

bool Gather::add(ShardIndex shard, std::string_view bytes) {
  const auto answer = std::find_if(answers_.begin(), answers_.end(), [&](const Answer& a) { return a.shard == shard; });
  CHECK(answer != answers_.end() && !answer->given && !bytes.empty());
  answer->given = true;
  answer->bytes = bytes;
  return --awaited_ == 0;
}

void Gather::take(std::string& out) {
  CHECK(awaited_ == 0 && !answers_.empty());
  if (const Answer* failed = error()) {
    out += failed->bytes;
  } else if (way_ == Way::add) {
    add_up(out);
  } else if (way_ == Way::join) {
    join(out);
  } else if (way_ == Way::weave) {
    weave(out);
  } else {
    out += answers_.front().bytes;
  }
  answers_.clear();
  owners_.clear();
  parts_.clear();
  words_.clear();
}

const Gather::Answer* Gather::error() const noexcept {
  const auto found = std::find_if(answers_.begin(), answers_.end(), [](const Answer& a) { return a.bytes[0] == '-'; });
  return found == answers_.end() ? nullptr : &*found;
}

void Gather::add_up(std::string& out) const {
  std::uint64_t sum = 0;
  for (const Answer& answer : answers_) {
    std::string_view bytes = answer.bytes;
    sum += take_header(bytes, ':');
    CHECK(bytes.empty());
  }
  writer(out).integer(static_cast<std::int64_t>(sum));
}

void Gather::join(std::string& out) const {
  std::uint64_t count = 0;
  std::vector<std::string_view> rests;
  for (const Answer& answer : answers_) {
    rests.emplace_back(answer.bytes);
    count += take_header(rests.back(), '*');
  }
  writer(out).array(count);
  for (const std::string_view rest : rests) out += rest;
}

void Gather::weave(std::string& out) const {
  std::vector<std::string_view> rests;
  std::uint64_t count = 0;
  for (const Answer& answer : answers_) {
    rests.emplace_back(answer.bytes);
    count += take_header(rests.back(), '*');
  }
  CHECK(count == owners_.size());
  writer(out).array(count);
  for (const std::uint16_t owner : owners_) out += take_element(rests[owner]);
  for (const std::string_view rest : rests) CHECK(rest.empty());
}

std::size_t Gather::memory() const noexcept {
  std::size_t bytes = sizeof(*this) + parts_.capacity() * sizeof(Part) + words_.capacity() * sizeof(std::string_view) +
                      owners_.capacity() * sizeof(std::uint16_t) + answers_.capacity() * sizeof(Answer);
  for (const Answer& answer : answers_) bytes += answer.bytes.capacity();
  return bytes;
}

}  // namespace holdfast
