// ACL: who one is, and Redis's categories of commands. Users are changed in the configuration file only.
#include "server/command_categories.h"
#include "server/session.h"
#include "server/session_commands.h"

#include <algorithm>

namespace holdfast {

void session_acl_whoami(Session& session, Words, ReplyWriter& reply) { reply.bulk(session.user().name); }

void session_acl_cat(Session&, Words words, ReplyWriter& reply) {
  if (words.size() > 3) {
    return reply.raw_error("ERR unknown subcommand or wrong number of arguments for 'CAT'. Try ACL HELP.");
  }
  if (words.size() == 2) {
    reply.array(command_categories().size());
    for (const auto category : command_categories()) reply.bulk(category);
    return;
  }
  std::string category(words[2].substr(0, 128));
  std::transform(category.begin(), category.end(), category.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  const auto all = command_categories();
  if (std::find(all.begin(), all.end(), category) == all.end()) {
    return reply.error(Error::format(ErrorCode::err, "Unknown category '{}'", words[2].substr(0, 128)));
  }
  std::vector<std::string> names;
  for (const CommandEntry& entry : command_table()) {
    if (is_in_category(entry, category)) names.push_back(full_name(entry));
  }
  reply.array(names.size());
  for (const std::string& name : names) reply.bulk(name);
}

}  // namespace holdfast
