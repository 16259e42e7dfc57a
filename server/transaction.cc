#include "server/transaction.h"

#include "protocol/command_keys.h"
#include "server/requests.h"

#include <utility>

namespace holdfast {
namespace {

constexpr std::string_view kNotAllowed = "Command not allowed inside a transaction";

Error not_allowed(std::string_view why) { return Error::format(ErrorCode::err, "{}: {}", kNotAllowed, why); }

}  // namespace

bool is_itemless_in_transaction(CommandId id) noexcept {
  return id == CommandId::ping || id == CommandId::echo || id == CommandId::time || id == CommandId::unwatch;
}

Result<std::optional<std::string_view>> item_of_key(std::string_view key, bool view) {
  if (view) {
    const ViewKey parsed = parse_view_key(key);
    return parsed.item ? std::optional(parsed.item->bytes()) : std::nullopt;
  }
  const auto item = ItemName::parse(key);
  if (!item) return item.error();
  return std::optional(item->bytes());
}

void Transaction::clear() {
  open_ = aborted_ = watching_ = false;
  item_.clear();
  heads_.clear();
  ends_.clear();
  bytes_.clear();
  header_.clear();
  packed_.clear();
  if (memory() <= kKeptBufferBytesMax) return;
  // Assigning would keep the room of a string.
  std::string().swap(bytes_);
  ends_ = std::vector<std::uint32_t>();
  packed_ = std::vector<std::string_view>();
}

Result<void> Transaction::queue(const CommandEntry& entry, Words words) {
  Result<void> taken = may_queue(entry, words);
  if (taken) taken = bind(entry, words);
  if (!taken) return abort(), taken;
  heads_.push_back({entry.id, static_cast<std::uint16_t>(words.size())});
  for (const std::string_view word : words) {
    bytes_.append(word);
    ends_.push_back(static_cast<std::uint32_t>(bytes_.size()));
  }
  return {};
}

Result<void> Transaction::may_queue(const CommandEntry& entry, Words words) const {
  if (entry.home == CommandHome::session && !is_itemless_in_transaction(entry.id)) {
    return not_allowed("only commands on one item are, and PING, ECHO, TIME, UNWATCH");
  }
  if (entry.home == CommandHome::step && (entry.key == 0 || words[static_cast<std::size_t>(entry.key)] == "*")) {
    return not_allowed("it is about all items, and a transaction about one");
  }
  if (entry.pace == CommandPace::large) return not_allowed("its reply may be large; send it by itself");
  if (heads_.size() == kTransactionCommandsMax) {
    return Error::format(ErrorCode::err, "a transaction has at most {} commands", kTransactionCommandsMax);
  }
  std::size_t bytes = bytes_.size() + (ends_.size() + words.size()) * sizeof(std::string_view);
  for (const std::string_view word : words) bytes += word.size();
  if (bytes <= kTransactionBytesMax) return {};
  return Error::format(ErrorCode::err, "the commands of a transaction have at most {} bytes, with {} for each word",
                       kTransactionBytesMax, sizeof(std::string_view));
}

Result<void> Transaction::bind(const CommandEntry& entry, Words words) {
  const auto keys = keys_of(entry, words);
  if (!keys) return keys.error();
  for (const std::string_view key : *keys) {
    const auto item = item_of_key(key, key_spec(entry).view);
    // A name that is none is for the step to refuse: refusals are results.
    if (item && *item) HOLDFAST_TRY(bind(**item));
  }
  return {};
}

Result<void> Transaction::bind(std::string_view item) {
  if (item_.empty()) item_ = item;
  if (item_ == item) return {};
  return Error::format(ErrorCode::cross_slot, "keys of one transaction are of one item: '{}' is not '{}'",
                       Echo(item).text(), Echo(item_).text());
}

Result<bool> Transaction::watch(Words words) {
  const std::string before = item_;
  for (const std::string_view key : words.subspan(1)) {
    // A key of the view, else the name of an item as RESERVE takes it.
    auto item = item_of_key(key, true);
    if (!*item) item = item_of_key(key, false);
    if (!item) continue;  // no item has such a name, so it never changes
    if (const auto bound = bind(**item); !bound) {
      item_ = before;
      return bound.error();
    }
  }
  return !item_.empty() && !std::exchange(watching_, !item_.empty());
}

Words Transaction::watch_message() {
  packed_.assign({"WATCH", item_});
  return packed_;
}

Words Transaction::pack() {
  header_.assign(1, watching_ ? '\1' : '\0');
  header_.append(reinterpret_cast<const char*>(heads_.data()), heads_.size() * sizeof(QueuedHead));
  packed_.clear();
  packed_.push_back(header_);
  packed_.push_back(item_);
  std::uint32_t begin = 0;
  for (const std::uint32_t end : ends_) {
    packed_.push_back(std::string_view(bytes_).substr(begin, end - begin));
    begin = end;
  }
  return packed_;
}

}  // namespace holdfast
