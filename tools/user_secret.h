// Makes a user's secret and what the server's configuration file is to say of it. Any thread.
#pragma once

#include <span>
#include <string>

namespace holdfast {

/// `holdfastctl user-secret NAME ROLE...`: prints a new random secret to stderr and to stdout, for the configuration
/// file, a table with the secret's digest. The exit status.
int user_secret_command(std::span<const std::string> words);

/// "sha256:" and the 64 hexadecimal digits of a secret's digest, as the configuration file has it.
std::string digest_text(const std::string& secret);

}  // namespace holdfast
