// The commands, from one table: enum, look-up, arity and documentation. Constant data; any thread.
#pragma once

#include "protocol/error.h"

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

namespace holdfast {

enum class CommandId : std::uint8_t {
#define HOLDFAST_STEP(id, ...) id,
#define HOLDFAST_SESSION(id, ...) id,
#include "protocol/commands.def"
#undef HOLDFAST_STEP
#undef HOLDFAST_SESSION
};

inline constexpr std::size_t kCommandCount =
    std::initializer_list<CommandId>{
#define HOLDFAST_STEP(id, ...) CommandId::id,
#define HOLDFAST_SESSION(id, ...) CommandId::id,
#include "protocol/commands.def"
#undef HOLDFAST_STEP
#undef HOLDFAST_SESSION
    }
        .size();

enum class CommandHome : std::uint8_t { step, session };
enum class CommandAccess : std::uint8_t { none, read, write };
/// As COMMAND DOCS names them: Redis's groups, and two of our own.
enum class CommandGroup : std::uint8_t {
  reservation,
  item,
  string,
  set,
  generic,
  connection,
  server,
  cluster,
  pubsub,
  transactions,
  scripting,
  stream,
};
/// How much work a command is.
enum class CommandPace : std::uint8_t {
  fast,     // a row or two
  slow,     // more than that; what the others are in Redis's words
  lengthy,  // it may take long by itself: it makes a block, and so a measured batch, of its own
  large,    // lengthy, with a reply that may be large: nothing else of its connection is executed meanwhile, and no
            // transaction holds it
};
enum class Role : std::uint8_t {
#define HOLDFAST_ROLE(id, ...) id,
#include "protocol/roles.def"
#undef HOLDFAST_ROLE
};

/// A set of roles: what a connection may do is one comparison with a command's.
using RoleMask = std::uint8_t;
constexpr RoleMask role_bit(Role role) noexcept { return static_cast<RoleMask>(1U << static_cast<unsigned>(role)); }
/// What a connection may do before it has authenticated.
inline constexpr RoleMask kOpenRoles = role_bit(Role::open);
/// What it may do where no users are configured.
inline constexpr RoleMask kAllRoles = 0xff;

/// One line of roles.def.
struct RoleEntry {
  Role role;
  std::string_view name;
  std::string_view summary;
};

/// One line of commands.def.
struct CommandEntry {
  CommandId id;
  CommandHome home;
  std::string_view name;        // upper case
  std::string_view subcommand;  // upper case, empty for a command without
  int arity;                    // words including the name (and subcommand); negative: at least
  Role role;
  CommandAccess access;
  int key;  // position of the item or key argument; 0: none
  CommandGroup group;
  CommandPace pace;
  std::string_view syntax;
  std::string_view summary;
};

/// All commands in the table's order, indexed by CommandId.
std::span<const CommandEntry> command_table() noexcept;

/// One request's words, the name first. Valid while the buffer they were parsed from is.
using Words = std::span<const std::string_view>;

/// The command that a request means, in any case of letters. An error when the name or subcommand is unknown or the
/// number of words does not fit; its text is Redis's. REQUIRES: at least one word.
Result<const CommandEntry*> find_command(Words words);

/// The command of this name and subcommand, whatever the number of words; nothing when there is none.
const CommandEntry* find_command_name(Words words) noexcept;

/// Compares without regard to the case of ASCII letters. REQUIRES: `upper` is in upper case.
bool equals_ignoring_case(std::string_view text, std::string_view upper) noexcept;

/// "get" or "client|id": the name as errors, COMMAND and ACL show it.
std::string full_name(const CommandEntry& entry);

/// All roles in the table's order, indexed by Role.
std::span<const RoleEntry> role_table() noexcept;
/// "reservation" and so on, as COMMAND DOCS names it.
std::string_view group_name(CommandGroup group) noexcept;

/// "buyer" and so on.
std::string_view role_name(Role role) noexcept;
/// A role that a user can have; nothing for another name.
const RoleEntry* find_role(std::string_view name) noexcept;

}  // namespace holdfast
