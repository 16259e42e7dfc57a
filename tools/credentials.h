// Who a program is for the server: a user and his secret, from a file or the environment, never from the command line,
// which every process on the machine can read. Any thread.
#pragma once

#include "protocol/error.h"

#include <string>

namespace holdfast {

struct Credentials {
  std::string user = "default";
  std::string secret;  // empty: none is sent

  bool given() const noexcept { return !secret.empty(); }
};

/// The secret from this file's first line; without a file from HOLDFASTCTL_AUTH, else from REDISCLI_AUTH, which
/// redis-cli reads as well. An empty `user` is the user default. Errors: bad_option for a file that cannot be read or is
/// empty, and for a user without a secret; they never repeat a secret.
Result<Credentials> find_credentials(const std::string& user, const std::string& secret_file);

/// This file's first line. `option` names who wanted it in errors, bad_option.
Result<std::string> read_secret(const std::string& option, const std::string& path);

}  // namespace holdfast
