#include "server/config_file.h"

#include "server/suggestion.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <toml++/toml.h>

#include <cerrno>
#include <fstream>
#include <sstream>
#include <system_error>

namespace holdfast {
namespace {

constexpr std::string_view kUsersKey = "users";
constexpr std::string_view kUserKeys[] = {"roles", "secrets", "disabled"};

/// Errors of one file.
class ConfigReader {
 public:
  ConfigReader(const std::string& path, CommandLine& line) : path_(path), line_(line) {}

  Result<void> read(std::string_view text) {
    const toml::table table = toml::parse(text, path_);
    for (const auto& [key, node] : table) {
      if (key.str() == kUsersKey) {
        HOLDFAST_TRY(read_users(node));
      } else {
        HOLDFAST_TRY(read_option(key, node));
      }
    }
    return {};
  }

 private:
  Error wrong(const toml::source_region& where, std::string_view what) const {
    return Error::format(ErrorCode::bad_option, "{}:{}: {}", path_, where.begin.line, what);
  }

  Error unknown_key(const toml::key& key, std::string_view of, std::span<const std::string_view> known) const {
    return wrong(key.source(),
                 fmt::format("{}unknown key '{}'{}", of, Echo(key.str()).text(), suggestion(key.str(), known)));
  }

  Result<void> read_option(const toml::key& key, const toml::node& node) {
    const OptionEntry* entry = find_option(key.str());
    if (entry == nullptr) {
      std::vector<std::string_view> known = {kUsersKey};
      for (const OptionEntry& option : option_table()) known.push_back(option.name);
      const bool near = !nearest_word(key.str(), known).empty();
      const Error error = unknown_key(key, "", known);
      return near ? error : Error::format(error.code(), "{}; holdfastd --help lists the options", error.text());
    }
    std::string text;
    if (const auto* string = node.as_string()) {
      text = string->get();
    } else if (const auto* number = node.as_integer()) {
      text = fmt::format_int(number->get()).str();
    } else if (const auto* flag = node.as_boolean()) {
      text = flag->get() ? "yes" : "no";
    } else {
      return wrong(key.source(), fmt::format("{}: wants a text, a whole number, true or false", entry->name));
    }
    const auto set = entry->set(line_.options, *entry, text);
    if (!set) return wrong(key.source(), set.error().text());
    return {};
  }

  Result<void> read_users(const toml::node& node) {
    const auto* users = node.as_table();
    if (users == nullptr) return wrong(node.source(), "users: each user is a table of its own, [users.NAME]");
    for (const auto& [name, user] : *users) {
      if (line_.users.count() >= kUsersMax) {
        return wrong(name.source(), fmt::format("users: more than {}", kUsersMax));
      }
      HOLDFAST_TRY(read_user(name, user));
    }
    return {};
  }

  Result<void> read_user(const toml::key& name, const toml::node& node) {
    const std::string prefix = fmt::format("users.{}: ", Echo(name.str()).text());
    if (!is_user_name(name.str())) {
      return wrong(name.source(), fmt::format("{}a name has 1 to {} printable ASCII characters without spaces", prefix,
                                              kUserNameBytesMax));
    }
    const auto* table = node.as_table();
    if (table == nullptr) return wrong(name.source(), prefix + "a user is a table, [users.NAME]");
    User user;
    user.name = name.str();
    for (const auto& [key, value] : *table) {
      if (key == "roles") {
        HOLDFAST_TRY(read_roles(prefix, key, value, user));
      } else if (key == "secrets") {
        HOLDFAST_TRY(read_secrets(prefix, key, value, user));
      } else if (key == "disabled" && value.is_boolean()) {
        user.enabled = !value.as_boolean()->get();
      } else if (key == "disabled") {
        return wrong(key.source(), prefix + "disabled is true or false");
      } else {
        return unknown_key(key, prefix, kUserKeys);
      }
    }
    for (const std::string_view needed : {"roles", "secrets"}) {
      if (!table->contains(needed)) return wrong(name.source(), fmt::format("{}{} is missing", prefix, needed));
    }
    line_.users.add(std::move(user));
    return {};
  }

  Result<void> read_roles(const std::string& prefix, const toml::key& key, const toml::node& node, User& user) {
    std::vector<std::string_view> known;
    for (const RoleEntry& entry : role_table()) {
      if (find_role(entry.name) != nullptr) known.push_back(entry.name);
    }
    const auto* roles = node.as_array();
    if (roles == nullptr) {
      return wrong(key.source(), fmt::format("{}roles is an array of {}", prefix, fmt::join(known, ", ")));
    }
    for (const toml::node& role : *roles) {
      const auto* name = role.as_string();
      if (name == nullptr) return wrong(role.source(), prefix + "a role is a text, such as \"buyer\"");
      const RoleEntry* entry = find_role(name->get());
      if (entry == nullptr) {
        return wrong(role.source(), fmt::format("{}'{}' is not a role{}", prefix, Echo(name->get()).text(),
                                                suggestion(name->get(), known)));
      }
      user.roles |= role_bit(entry->role);
    }
    return {};
  }

  Result<void> read_secrets(const std::string& prefix, const toml::key& key, const toml::node& node, User& user) {
    const auto* secrets = node.as_array();
    if (secrets == nullptr || secrets->empty() || secrets->size() > kUserSecretsMax) {
      return wrong(key.source(), fmt::format("{}secrets is an array of 1 to {} digests", prefix, kUserSecretsMax));
    }
    for (const toml::node& secret : *secrets) {
      const auto* text = secret.as_string();
      const auto digest = text != nullptr ? parse_digest(text->get()) : std::nullopt;
      if (!digest) {
        return wrong(secret.source(), prefix +
                                          "a secret stands here as its digest, \"sha256:\" and 64 hexadecimal digits; "
                                          "holdfastctl user-secret makes both");
      }
      user.secrets.push_back(*digest);
    }
    return {};
  }

  const std::string& path_;
  CommandLine& line_;
};

Result<std::string> read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return Error::format(ErrorCode::bad_option, "--config: cannot read {}: {}", path,
                         std::generic_category().message(errno));
  }
  std::string text(kConfigBytesMax + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad()) return Error::format(ErrorCode::bad_option, "--config: {} is not a file that can be read", path);
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > kConfigBytesMax) {
    return Error::format(ErrorCode::bad_option, "--config: {} is larger than {} bytes", path, kConfigBytesMax);
  }
  return text;
}

/// Who may write the file may give himself every role. A digest of a random secret cannot be turned back, so that
/// reading it is only worth a warning.
Result<void> check_mode(const std::string& path, CommandLine& line) {
  struct stat state {};
  if (!line.users.configured() || stat(path.c_str(), &state) != 0) return {};
  if ((state.st_mode & S_IWOTH) != 0) {
    return Error::format(ErrorCode::bad_option, "--config: everybody may write {}, and it names users; chmod o-w it",
                         path);
  }
  if ((state.st_mode & S_IROTH) != 0) {
    line.warnings.push_back(
        fmt::format("everybody may read {}, and it names users; chmod o-r it unless that is meant", path));
  }
  return {};
}

}  // namespace

Result<void> read_config_file(const std::string& path, CommandLine& line) {
  const auto text = read_text(path);
  if (!text) return text.error();
  try {
    HOLDFAST_TRY(ConfigReader(path, line).read(*text));
  } catch (const toml::parse_error& error) {
    return Error::format(ErrorCode::bad_option, "{}:{}: {}", path, error.source().begin.line, error.description());
  }
  return check_mode(path, line);
}

}  // namespace holdfast
