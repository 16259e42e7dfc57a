#include "protocol/command_table.h"

#include <algorithm>
#include <array>
#include <string>

namespace holdfast {
namespace {

constexpr CommandEntry kCommands[] = {
#define HOLDFAST_STEP(id, name, sub, arity, role, access, key, group, pace, syntax, summary)              \
  {CommandId::id,       CommandHome::step, name,   sub,    arity, Role::role, CommandAccess::access, key, \
   CommandGroup::group, CommandPace::pace, syntax, summary},
#define HOLDFAST_SESSION(id, name, sub, arity, role, access, key, group, pace, syntax, summary)              \
  {CommandId::id,       CommandHome::session, name,   sub,    arity, Role::role, CommandAccess::access, key, \
   CommandGroup::group, CommandPace::pace,    syntax, summary},
#include "protocol/commands.def"
#undef HOLDFAST_STEP
#undef HOLDFAST_SESSION
};

constexpr RoleEntry kRoles[] = {
#define HOLDFAST_ROLE(id, summary) {Role::id, #id, summary},
#include "protocol/roles.def"
#undef HOLDFAST_ROLE
};
static_assert(std::size(kRoles) <= 8, "a RoleMask has a bit for each");

/// Deny by default, as far as the table itself can be wrong: what touches an item needs a role that a user must be
/// given, and only a connection's own handshake is open to everybody.
constexpr bool roles_are_declared() {
  for (const CommandEntry& entry : kCommands) {
    const bool general = entry.role == Role::open || entry.role == Role::any;
    if (general && (entry.key > 0 || entry.access == CommandAccess::write)) return false;
    const bool handshake = entry.id == CommandId::auth || entry.id == CommandId::hello || entry.id == CommandId::quit ||
                           entry.id == CommandId::reset;
    if ((entry.role == Role::open) != handshake) return false;
  }
  return true;
}
static_assert(roles_are_declared(), "commands.def gives a command away, or keeps somebody from authenticating");

constexpr std::size_t kNameBytesMax = 128;       // what an error text repeats of a name
constexpr std::size_t kArgumentsBytesMax = 128;  // and of the arguments behind it
constexpr std::size_t kBuckets = 512;            // a power of two, a few times the number of commands
constexpr std::uint8_t kNone = 0xff;
static_assert(std::size(kCommands) < kNone && std::size(kCommands) * 2 < kBuckets);

constexpr char to_upper(char c) noexcept { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }
constexpr char to_lower(char c) noexcept { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

/// FNV-1a over the upper-case letters.
constexpr std::uint32_t hash_name(std::string_view text, std::uint32_t hash = 2166136261U) noexcept {
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(to_upper(c))) * 16777619U;
  return hash;
}

constexpr std::uint32_t hash_entry(std::string_view name, std::string_view subcommand) noexcept {
  return subcommand.empty() ? hash_name(name) : hash_name(subcommand, hash_name(" ", hash_name(name)));
}

constexpr std::array<std::uint8_t, kBuckets> make_index() {
  std::array<std::uint8_t, kBuckets> index{};
  index.fill(kNone);
  for (std::size_t i = 0; i < std::size(kCommands); ++i) {
    std::size_t at = hash_entry(kCommands[i].name, kCommands[i].subcommand) % kBuckets;
    while (index[at] != kNone) at = (at + 1) % kBuckets;
    index[at] = static_cast<std::uint8_t>(i);
  }
  return index;
}

constexpr auto kIndex = make_index();

const CommandEntry* find_entry(std::string_view name, std::string_view subcommand) noexcept {
  for (std::size_t at = hash_entry(name, subcommand) % kBuckets; kIndex[at] != kNone; at = (at + 1) % kBuckets) {
    const CommandEntry& entry = kCommands[kIndex[at]];
    if (equals_ignoring_case(name, entry.name) && equals_ignoring_case(subcommand, entry.subcommand)) return &entry;
  }
  return nullptr;
}

bool is_container(std::string_view name) noexcept {
  return std::any_of(std::begin(kCommands), std::end(kCommands), [&](const CommandEntry& entry) {
    return !entry.subcommand.empty() && equals_ignoring_case(name, entry.name);
  });
}

Error unknown_command(Words words) {
  std::string arguments;
  for (const auto word : words.subspan(1)) {
    if (arguments.size() >= kArgumentsBytesMax) break;
    const auto shown = word.substr(0, kArgumentsBytesMax - arguments.size());
    arguments.append("'").append(shown).append("' ");
  }
  return Error::format(ErrorCode::err, "unknown command '{}', with args beginning with: {}",
                       words[0].substr(0, kNameBytesMax), arguments);
}

std::string full_name(std::string_view name, std::string_view subcommand) {
  std::string text(name);
  if (!subcommand.empty()) text.append("|").append(subcommand);
  std::transform(text.begin(), text.end(), text.begin(), to_lower);
  return text;
}

Error wrong_arity(std::string_view name, std::string_view subcommand) {
  const std::string text = full_name(name, subcommand);
  return Error::format(ErrorCode::err, "wrong number of arguments for '{}' command", text);
}

}  // namespace

std::span<const CommandEntry> command_table() noexcept { return kCommands; }

const CommandEntry* find_command_name(Words words) noexcept {
  const CommandEntry* entry = find_entry(words[0], {});
  // COMMAND is a command by itself and has subcommands too.
  if (words.size() > 1 && (entry == nullptr || entry->id == CommandId::command)) return find_entry(words[0], words[1]);
  return entry;
}

Result<const CommandEntry*> find_command(Words words) {
  const CommandEntry* entry = find_command_name(words);
  if (entry == nullptr) {
    if (!is_container(words[0])) return unknown_command(words);
    if (words.size() == 1) return wrong_arity(words[0], {});
    std::string upper(words[0]);
    std::transform(upper.begin(), upper.end(), upper.begin(), to_upper);
    return Error::format(ErrorCode::err, "unknown subcommand '{}'. Try {} HELP.", words[1].substr(0, kNameBytesMax),
                         upper);
  }
  const int count = static_cast<int>(words.size());
  const bool fits = entry->arity >= 0 ? count == entry->arity : count >= -entry->arity;
  if (!fits) return wrong_arity(entry->name, entry->subcommand);
  return entry;
}

bool equals_ignoring_case(std::string_view text, std::string_view upper) noexcept {
  return std::equal(text.begin(), text.end(), upper.begin(), upper.end(),
                    [](char a, char b) { return to_upper(a) == b; });
}

std::string full_name(const CommandEntry& entry) { return full_name(entry.name, entry.subcommand); }

std::span<const RoleEntry> role_table() noexcept { return kRoles; }

std::string_view group_name(CommandGroup group) noexcept {
  constexpr std::string_view kNames[] = {"reservation", "item",    "string", "set",          "generic",   "connection",
                                         "server",      "cluster", "pubsub", "transactions", "scripting", "stream"};
  return kNames[static_cast<std::size_t>(group)];
}

std::string_view role_name(Role role) noexcept { return kRoles[static_cast<std::size_t>(role)].name; }

const RoleEntry* find_role(std::string_view name) noexcept {
  const auto found = std::find_if(std::begin(kRoles), std::end(kRoles), [&](const RoleEntry& entry) {
    return entry.name == name && entry.role != Role::open && entry.role != Role::any;
  });
  return found == std::end(kRoles) ? nullptr : found;
}

}  // namespace holdfast
