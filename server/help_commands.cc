// HELP of each command that has subcommands, in Redis's form, from the command table.
#include "server/session_commands.h"

#include <fmt/format.h>

#include <vector>

namespace holdfast {

void write_help(std::string_view container, ReplyWriter& reply) {
  std::vector<std::string> lines;
  lines.push_back(fmt::format("{} <subcommand> [<arg> [value] [opt] ...]. Subcommands are:", container));
  for (const CommandEntry& entry : command_table()) {
    if (entry.name != container) continue;
    // A command by itself, as COMMAND, has no words behind its name.
    const std::string_view syntax = entry.syntax;
    lines.emplace_back(syntax == container ? "(no subcommand)" : syntax.substr(container.size() + 1));
    lines.push_back(fmt::format("    {}", entry.summary));
  }
  reply.array(lines.size());
  for (const std::string& line : lines) reply.status(line);
}

void session_acl_help(Session&, Words, ReplyWriter& reply) { write_help("ACL", reply); }
void session_client_help(Session&, Words, ReplyWriter& reply) { write_help("CLIENT", reply); }
void session_command_help(Session&, Words, ReplyWriter& reply) { write_help("COMMAND", reply); }
void session_config_help(Session&, Words, ReplyWriter& reply) { write_help("CONFIG", reply); }
void session_function_help(Session&, Words, ReplyWriter& reply) { write_help("FUNCTION", reply); }
void session_item_help(Session&, Words, ReplyWriter& reply) { write_help("ITEM", reply); }
void session_latency_help(Session&, Words, ReplyWriter& reply) { write_help("LATENCY", reply); }
void session_log_help(Session&, Words, ReplyWriter& reply) { write_help("LOG", reply); }
void session_memory_help(Session&, Words, ReplyWriter& reply) { write_help("MEMORY", reply); }
void session_module_help(Session&, Words, ReplyWriter& reply) { write_help("MODULE", reply); }
void session_object_help(Session&, Words, ReplyWriter& reply) { write_help("OBJECT", reply); }
void session_pubsub_help(Session&, Words, ReplyWriter& reply) { write_help("PUBSUB", reply); }
void session_reservation_help(Session&, Words, ReplyWriter& reply) { write_help("RESERVATION", reply); }
void session_script_help(Session&, Words, ReplyWriter& reply) { write_help("SCRIPT", reply); }
void session_slowlog_help(Session&, Words, ReplyWriter& reply) { write_help("SLOWLOG", reply); }
void session_xinfo_help(Session&, Words, ReplyWriter& reply) { write_help("XINFO", reply); }

}  // namespace holdfast
