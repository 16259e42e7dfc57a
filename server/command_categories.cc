#include "server/command_categories.h"

#include <algorithm>

namespace holdfast {
namespace {

constexpr std::string_view kCategories[] = {
    "keyspace", "read",   "write",       "set",       "sortedset",  "list",        "hash",
    "string",   "bitmap", "hyperloglog", "geo",       "stream",     "pubsub",      "admin",
    "fast",     "slow",   "blocking",    "dangerous", "connection", "transaction", "scripting"};

/// What a command's name says about it; the rest follows from its line of the table.
struct Family {
  std::string_view name;
  std::string_view categories;  // between spaces
};
constexpr Family kFamilies[] = {
    {"ACL", " dangerous "},
    {"AUTH", " connection "},
    {"CLIENT", " connection "},
    {"COMMAND", " connection "},
    {"CONFIG", " admin dangerous "},
    {"DBSIZE", " keyspace "},
    {"DECR", " string "},
    {"DECRBY", " string "},
    {"DEL", " keyspace "},
    {"DISCARD", " transaction "},
    {"ECHO", " connection "},
    {"EVAL", " scripting "},
    {"EVALSHA", " scripting "},
    {"EXEC", " transaction "},
    {"EXISTS", " keyspace "},
    {"GET", " string "},
    {"HELLO", " connection "},
    {"INCR", " string "},
    {"INCRBY", " string "},
    {"INFO", " dangerous "},
    {"LATENCY", " admin dangerous "},
    {"MONITOR", " admin dangerous "},
    {"MULTI", " transaction "},
    {"PING", " connection "},
    {"PSUBSCRIBE", " pubsub "},
    {"PUBLISH", " pubsub "},
    {"PUBSUB", " pubsub "},
    {"PUNSUBSCRIBE", " pubsub "},
    {"QUIT", " connection "},
    {"READONLY", " connection "},
    {"READWRITE", " connection "},
    {"ASKING", " connection "},
    {"RESET", " connection "},
    {"ROLE", " admin dangerous "},
    {"SCARD", " set "},
    {"SCRIPT", " scripting "},
    {"SELECT", " connection "},
    {"SET", " string "},
    {"SHUTDOWN", " admin dangerous "},
    {"SISMEMBER", " set "},
    {"SLOWLOG", " admin dangerous "},
    {"SMEMBERS", " set "},
    {"SSCAN", " set "},
    {"SUBSCRIBE", " pubsub "},
    {"TYPE", " keyspace "},
    {"UNSUBSCRIBE", " pubsub "},
    {"UNWATCH", " transaction "},
    {"WATCH", " transaction "},
    {"XINFO", " stream "},
    {"XLEN", " stream "},
    {"XRANGE", " stream "},
    {"XREAD", " stream "},
};

/// Commands that read or write a bounded number of rows; Redis calls that fast.
bool is_fast(const CommandEntry& entry) noexcept {
  constexpr std::string_view kFast[] = {"RESERVE",   "CONFIRM", "RELEASE", "REFUND", "EXTEND",  "GET",   "INCR",
                                        "INCRBY",    "DECR",    "DECRBY",  "EXISTS", "TYPE",    "PING",  "ECHO",
                                        "AUTH",      "HELLO",   "SELECT",  "QUIT",   "RESET",   "ROLE",  "SCARD",
                                        "SISMEMBER", "DBSIZE",  "TIME",    "MULTI",  "DISCARD", "WATCH", "UNWATCH"};
  return std::find(std::begin(kFast), std::end(kFast), entry.name) != std::end(kFast);
}

bool family_has(const CommandEntry& entry, std::string_view category) {
  const std::string wanted = std::string(" ").append(category).append(" ");
  return std::any_of(std::begin(kFamilies), std::end(kFamilies), [&](const Family& family) {
    return family.name == entry.name && family.categories.find(wanted) != std::string_view::npos;
  });
}

bool has(const CommandEntry& entry, std::string_view category) {
  if (category == "read") return entry.access == CommandAccess::read;
  if (category == "write") return entry.access == CommandAccess::write;
  if (category == "fast") return is_fast(entry);
  if (category == "slow") return !is_fast(entry);
  if (category == "blocking") return entry.id == CommandId::reservation_wait;
  const bool administers = category == "admin" || category == "dangerous";
  return family_has(entry, category) || (administers && entry.role == Role::admin);
}

}  // namespace

std::span<const std::string_view> command_categories() noexcept { return kCategories; }

std::vector<std::string_view> categories_of(const CommandEntry& entry) {
  std::vector<std::string_view> found;
  std::copy_if(std::begin(kCategories), std::end(kCategories), std::back_inserter(found),
               [&](std::string_view category) { return has(entry, category); });
  return found;
}

bool is_in_category(const CommandEntry& entry, std::string_view category) {
  return std::any_of(std::begin(kCategories), std::end(kCategories), [&](std::string_view known) {
    return known.size() == category.size() &&
           std::equal(known.begin(), known.end(), category.begin(),
                      [](char a, char b) { return a == (b >= 'A' && b <= 'Z' ? b - 'A' + 'a' : b); }) &&
           has(entry, known);
  });
}

}  // namespace holdfast
