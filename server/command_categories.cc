#include "server/command_categories.h"

#include <algorithm>

namespace holdfast {
namespace {

constexpr std::string_view kCategories[] = {
    "keyspace", "read",   "write",       "set",       "sortedset",  "list",        "hash",
    "string",   "bitmap", "hyperloglog", "geo",       "stream",     "pubsub",      "admin",
    "fast",     "slow",   "blocking",    "dangerous", "connection", "transaction", "scripting"};

/// What a command's group says.
std::string_view category_of(CommandGroup group) noexcept {
  switch (group) {
    case CommandGroup::string:
      return "string";
    case CommandGroup::set:
      return "set";
    case CommandGroup::generic:
      return "keyspace";
    case CommandGroup::connection:
    case CommandGroup::cluster:
      return "connection";
    case CommandGroup::pubsub:
      return "pubsub";
    case CommandGroup::transactions:
      return "transaction";
    case CommandGroup::scripting:
      return "scripting";
    case CommandGroup::stream:
      return "stream";
    default:
      return "";
  }
}

bool has(const CommandEntry& entry, std::string_view category) {
  if (category == "read") return entry.access == CommandAccess::read;
  if (category == "write") return entry.access == CommandAccess::write;
  if (category == "fast") return entry.pace == CommandPace::fast;
  if (category == "slow") return entry.pace != CommandPace::fast;
  if (category == "blocking") {
    return entry.id == CommandId::reservation_wait || entry.id == CommandId::xread || entry.id == CommandId::log_read;
  }
  if (category == "admin" || category == "dangerous") return entry.role == Role::admin || entry.role == Role::metrics;
  return category == category_of(entry.group);
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
