// COMMAND and its subcommands, in Redis 7's shapes, all from the command table.
#include "protocol/check.h"
#include "protocol/command_keys.h"
#include "server/command_categories.h"
#include "server/glob.h"
#include "server/session.h"
#include "server/session_commands.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

namespace holdfast {
namespace {

using Entries = std::vector<const CommandEntry*>;
using Names = std::vector<std::string_view>;

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return result;
}

/// A command as clients see it: a name, the entry of that name if it is one by itself, and its subcommands.
struct Family {
  std::string_view name;
  const CommandEntry* itself = nullptr;
  Entries subcommands;
};

std::vector<Family> make_families() {
  std::vector<Family> all;
  for (const CommandEntry& entry : command_table()) {
    auto family = std::find_if(all.begin(), all.end(), [&](const Family& known) { return known.name == entry.name; });
    if (family == all.end()) family = all.insert(all.end(), Family{entry.name, nullptr, {}});
    if (entry.subcommand.empty()) {
      family->itself = &entry;
    } else {
      family->subcommands.push_back(&entry);
    }
  }
  return all;
}

const std::vector<Family>& families() {
  static const std::vector<Family> kFamilies = make_families();
  return kFamilies;
}

/// "get", "client", "client|id", in any case; nothing for another name.
struct Named {
  const Family* family = nullptr;
  const CommandEntry* entry = nullptr;  // nothing: a family without a command of its own name
};

Named find_named(const std::vector<Family>& all, std::string_view name) {
  for (const Family& family : all) {
    if (equals_ignoring_case(name, family.name)) return {&family, family.itself};
    for (const CommandEntry* entry : family.subcommands) {
      if (lower(name) == full_name(*entry)) return {&family, entry};
    }
  }
  return {};
}

template <class Texts>
void write_statuses(ReplyWriter& reply, const Texts& names) {
  reply.set(names.size());
  for (const auto& name : names) reply.status(name);
}

Names flags_of(const CommandEntry& entry) {
  if (entry.access == CommandAccess::write) return {"write", "denyoom"};
  if (entry.access == CommandAccess::read) return {"readonly"};
  Names flags;
  if (entry.role == Role::admin) flags.push_back("admin");
  if (entry.group == CommandGroup::pubsub) flags.push_back("pubsub");
  for (const std::string_view always : {"noscript", "loading", "stale"}) flags.push_back(always);
  if (entry.role == Role::open) flags.push_back("no_auth");
  if (key_spec(entry).count_at > 0) flags.push_back("movablekeys");
  return flags;
}

/// Redis prefixes them here, and only here.
std::vector<std::string> marked_categories(const CommandEntry& entry) {
  std::vector<std::string> marked;
  for (const auto category : categories_of(entry)) marked.push_back(std::string("@").append(category));
  return marked;
}

/// A key specification's "type" and "spec" with numbers.
void write_search(ReplyWriter& reply, std::string_view name, std::string_view type,
                  std::initializer_list<std::pair<std::string_view, int>> numbers) {
  reply.bulk(name);
  reply.map(2);
  reply.bulk("type");
  reply.bulk(type);
  reply.bulk("spec");
  reply.map(numbers.size());
  for (const auto& [key, number] : numbers) {
    reply.bulk(key);
    reply.integer(number);
  }
}

std::vector<std::string_view> key_flags_of(const CommandEntry& entry) {
  if (entry.access == CommandAccess::write) return {"RW", "access", "update"};
  return {"RO", "access"};
}

void write_key_specs(ReplyWriter& reply, const CommandEntry& entry) {
  const KeySpec keys = key_spec(entry);
  if (keys.first == 0 && keys.count_at == 0) return reply.set(0);
  reply.set(1);
  reply.map(3);
  reply.bulk("flags");
  write_statuses(reply, key_flags_of(entry));
  write_search(reply, "begin_search", "index", {{"index", keys.count_at > 0 ? keys.count_at : keys.first}});
  if (keys.count_at > 0) {
    write_search(reply, "find_keys", "keynum", {{"keynumidx", 0}, {"firstkey", 1}, {"keystep", 1}});
  } else {
    write_search(reply, "find_keys", "range", {{"lastkey", keys.many ? -1 : 0}, {"keystep", keys.step}, {"limit", 0}});
  }
}

void write_info(ReplyWriter& reply, std::string_view name, const CommandEntry* entry, const Entries& subcommands) {
  reply.array(10);
  reply.bulk(name);
  reply.integer(entry != nullptr ? entry->arity : -2);
  const KeySpec keys = entry != nullptr ? key_spec(*entry) : KeySpec();
  write_statuses(reply, entry != nullptr ? flags_of(*entry) : Names{});
  reply.integer(keys.first);
  reply.integer(keys.first == 0 ? 0 : keys.many ? -1 : keys.first);
  reply.integer(keys.first == 0 ? 0 : keys.step);
  write_statuses(reply, entry != nullptr ? marked_categories(*entry) : std::vector<std::string>{"@slow"});
  reply.set(0);
  if (entry != nullptr) {
    write_key_specs(reply, *entry);
  } else {
    reply.set(0);
  }
  if (subcommands.empty()) return reply.set(0);
  reply.array(subcommands.size());
  for (const CommandEntry* sub : subcommands) write_info(reply, full_name(*sub), sub, {});
}

void write_family(ReplyWriter& reply, const Family& family) {
  write_info(reply, lower(family.name), family.itself, family.subcommands);
}

/// One argument of a syntax text: "item", "[QTY n]", "LIB-NAME libname | LIB-VER libver".
struct Argument {
  std::string name, token;
  bool optional = false;
};

bool is_token(std::string_view word) noexcept {
  return !word.empty() &&
         std::all_of(word.begin(), word.end(), [](char c) { return (c >= 'A' && c <= 'Z') || c == '-' || c == '|'; });
}

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    if (end > 0) words.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

/// The arguments behind the command's own words, one for each word or bracket of the syntax.
std::vector<Argument> arguments_of(const CommandEntry& entry) {
  std::vector<Argument> found;
  int depth = 0;
  auto words = split(entry.syntax);
  words.erase(words.begin(), words.begin() + (entry.subcommand.empty() ? 1 : 2));
  for (const std::string_view word : words) {
    if (word == "|" || word == "...]" || word == "...]]") continue;
    const auto opening = static_cast<int>(std::count(word.begin(), word.end(), '['));
    const auto closing = static_cast<int>(std::count(word.begin(), word.end(), ']'));
    std::string bare(word);
    std::erase_if(bare, [](char c) { return c == '[' || c == ']'; });
    const bool optional = depth + opening > 0;
    if (!found.empty() && found.back().name.empty() && opening == 0) {
      found.back().name = bare;
    } else if (is_token(bare) && opening >= closing) {
      found.push_back({"", bare, optional});
    } else {
      found.push_back({is_token(bare) ? lower(bare) : bare, is_token(bare) ? bare : "", optional});
    }
    depth += opening - closing;
  }
  for (Argument& argument : found) {
    if (argument.name.empty()) argument.name = lower(argument.token);
  }
  return found;
}

void write_argument(ReplyWriter& reply, const Argument& argument, bool key) {
  const bool pure = lower(argument.token) == argument.name;
  reply.map(2U + (key ? 1U : 0U) + (argument.token.empty() ? 0U : 1U) + (argument.optional ? 1U : 0U));
  reply.bulk("name");
  reply.bulk(argument.name);
  reply.bulk("type");
  reply.bulk(key ? "key" : pure ? "pure-token" : "string");
  if (key) {
    reply.bulk("key_spec_index");
    reply.integer(0);
  }
  if (!argument.token.empty()) {
    reply.bulk("token");
    reply.bulk(argument.token);
  }
  if (argument.optional) {
    reply.bulk("flags");
    write_statuses(reply, Names{"optional"});
  }
}

void write_docs(ReplyWriter& reply, const CommandEntry& entry) {
  const auto arguments = arguments_of(entry);
  reply.map(arguments.empty() ? 3 : 4);
  reply.bulk("summary");
  reply.bulk(entry.summary);
  reply.bulk("since");
  reply.bulk("0.1.0");
  reply.bulk("group");
  reply.bulk(group_name(entry.group));
  if (arguments.empty()) return;
  reply.bulk("arguments");
  reply.array(arguments.size());
  for (std::size_t i = 0; i < arguments.size(); ++i) write_argument(reply, arguments[i], i == 0 && entry.key > 0);
}

void write_family_docs(ReplyWriter& reply, const Family& family) {
  if (family.itself != nullptr && family.subcommands.empty()) return write_docs(reply, *family.itself);
  reply.map(4);
  reply.bulk("summary");
  reply.bulk(family.itself != nullptr ? family.itself->summary : "A container of commands.");
  reply.bulk("since");
  reply.bulk("0.1.0");
  reply.bulk("group");
  reply.bulk(group_name(family.subcommands.front()->group));
  reply.bulk("subcommands");
  reply.map(family.subcommands.size());
  for (const CommandEntry* sub : family.subcommands) {
    reply.bulk(full_name(*sub));
    write_docs(reply, *sub);
  }
}

}  // namespace

void session_command(Session&, Words, ReplyWriter& reply) {
  const auto& all = families();
  reply.array(all.size());
  for (const Family& family : all) write_family(reply, family);
}

void session_command_count(Session&, Words, ReplyWriter& reply) {
  reply.integer(static_cast<std::int64_t>(families().size()));
}

void session_command_info(Session& session, Words words, ReplyWriter& reply) {
  if (words.size() == 2) return session_command(session, words, reply);
  const auto& all = families();
  reply.array(words.size() - 2);
  for (const auto word : words.subspan(2)) {
    const Named named = find_named(all, word);
    if (named.family == nullptr) {
      reply.null();
    } else if (named.entry == nullptr || named.entry->subcommand.empty()) {
      write_family(reply, *named.family);
    } else {
      write_info(reply, full_name(*named.entry), named.entry, {});
    }
  }
}

void session_command_docs(Session&, Words words, ReplyWriter& reply) {
  const auto& all = families();
  if (words.size() == 2) {
    reply.map(all.size());
    for (const Family& family : all) {
      reply.bulk(lower(family.name));
      write_family_docs(reply, family);
    }
    return;
  }
  std::vector<Named> found;
  for (const auto word : words.subspan(2)) {
    if (const Named named = find_named(all, word); named.family != nullptr) found.push_back(named);
  }
  reply.map(found.size());
  for (const Named& named : found) {
    const bool whole = named.entry == nullptr || named.entry->subcommand.empty();
    reply.bulk(whole ? lower(named.family->name) : full_name(*named.entry));
    if (whole) {
      write_family_docs(reply, *named.family);
    } else {
      write_docs(reply, *named.entry);
    }
  }
}

void session_command_list(Session&, Words words, ReplyWriter& reply) {
  if (words.size() != 2 && words.size() != 5) return reply.raw_error(kSyntaxError);
  const bool filtered = words.size() == 5;
  if (filtered && !equals_ignoring_case(words[2], "FILTERBY")) return reply.raw_error(kSyntaxError);
  const bool pattern = filtered && equals_ignoring_case(words[3], "PATTERN");
  const bool category = filtered && equals_ignoring_case(words[3], "ACLCAT");
  if (filtered && !pattern && !category && !equals_ignoring_case(words[3], "MODULE")) {
    return reply.raw_error(kSyntaxError);
  }
  std::vector<std::string> names;
  const auto add = [&](const std::string& name, const CommandEntry* entry) {
    if (pattern && (words[4].size() > kPatternBytesMax || !glob_matches(words[4], name, true))) return;
    if (category) {
      if (entry == nullptr || !is_in_category(*entry, words[4])) return;
    }
    if (!filtered || pattern || category) names.push_back(name);
  };
  for (const Family& family : families()) {
    add(lower(family.name), family.itself);
    if (!filtered) continue;
    for (const CommandEntry* sub : family.subcommands) add(full_name(*sub), sub);
  }
  reply.array(names.size());
  for (const std::string& name : names) reply.bulk(name);
}

namespace {

/// The keys of a command with its arguments; none and an error when there are none or it is no command.
std::vector<std::string_view> keys_or_error(Words words, const CommandEntry*& entry, ReplyWriter& reply) {
  const auto found = find_command(words);
  if (!found) {
    const bool arity = found.error().text().starts_with("wrong number");
    reply.raw_error(arity ? "ERR Invalid number of arguments specified for command" : "ERR Invalid command specified");
    return {};
  }
  entry = *found;
  auto keys = keys_of(*entry, words);
  if (!keys) return reply.raw_error("ERR Invalid arguments specified for command"), std::vector<std::string_view>();
  if (keys->empty()) reply.raw_error("ERR The command has no key arguments");
  return *keys;
}

}  // namespace

void session_command_getkeys(Session&, Words words, ReplyWriter& reply) {
  const CommandEntry* entry = nullptr;
  const auto keys = keys_or_error(words.subspan(2), entry, reply);
  if (keys.empty()) return;
  reply.array(keys.size());
  for (const auto key : keys) reply.bulk(key);
}

void session_command_getkeysandflags(Session&, Words words, ReplyWriter& reply) {
  const CommandEntry* entry = nullptr;
  const auto keys = keys_or_error(words.subspan(2), entry, reply);
  if (keys.empty()) return;
  reply.array(keys.size());
  for (const auto key : keys) {
    reply.array(2);
    reply.bulk(key);
    write_statuses(reply, key_flags_of(*entry));
  }
}

}  // namespace holdfast
