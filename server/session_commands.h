// The commands that a connection answers itself: one function session_<id> for each HOLDFAST_SESSION line of the command
// table, declared from it; one that is missing does not link. Each writes exactly one reply (CLIENT REPLY: as Redis).
#pragma once

#include "protocol/command_table.h"
#include "protocol/reply_writer.h"

namespace holdfast {

class Session;

#define HOLDFAST_STEP(...)
#define HOLDFAST_SESSION(id, ...) void session_##id(Session& session, Words words, ReplyWriter& reply);
#include "protocol/commands.def"
#undef HOLDFAST_STEP
#undef HOLDFAST_SESSION

/// Calls the function of a command. REQUIRES: its home is the session, its arity fits.
void run_session_command(CommandId id, Session& session, Words words, ReplyWriter& reply);

/// Whether a text can be a client's name: what CLIENT LIST shows unambiguously.
bool is_client_label(std::string_view text) noexcept;
inline constexpr std::string_view kBadClientName =
    "ERR Client names cannot contain spaces, newlines or special characters.";

/// The reply to `container` HELP: the container's subcommands, from the table.
void write_help(std::string_view container, ReplyWriter& reply);

/// A whole request's errors in Redis's words.
inline constexpr std::string_view kSyntaxError = "ERR syntax error";
inline constexpr std::string_view kNotInteger = "ERR value is not an integer or out of range";

}  // namespace holdfast
