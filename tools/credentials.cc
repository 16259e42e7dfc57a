#include "tools/credentials.h"

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <system_error>

namespace holdfast {
namespace {

constexpr std::size_t kSecretBytesMax = 4096;
constexpr const char* kVariables[] = {"HOLDFASTCTL_AUTH", "REDISCLI_AUTH"};

}  // namespace

Result<std::string> read_secret(const std::string& option, const std::string& path) {
  std::ifstream file(path);
  if (!file) {
    return Error::format(ErrorCode::bad_option, "{}: cannot read {}: {}", option, path,
                         std::generic_category().message(errno));
  }
  std::string secret;
  std::getline(file, secret);
  if (!secret.empty() && secret.back() == '\r') secret.pop_back();
  if (secret.empty() || secret.size() > kSecretBytesMax) {
    return Error::format(ErrorCode::bad_option, "{}: the first line of {} is to be the secret", option, path);
  }
  return secret;
}

Result<Credentials> find_credentials(const std::string& user, const std::string& secret_file) {
  Credentials found;
  if (!user.empty()) found.user = user;
  if (!secret_file.empty()) {
    const auto secret = read_secret("--secret-file", secret_file);
    if (!secret) return secret.error();
    found.secret = *secret;
    return found;
  }
  for (const char* variable : kVariables) {
    const char* const value = std::getenv(variable);
    if (value == nullptr || *value == '\0') continue;
    found.secret = value;
    return found;
  }
  if (user.empty()) return found;
  return Error::format(ErrorCode::bad_option, "--user {}: no secret; give --secret-file FILE or set {}", user,
                       kVariables[0]);
}

}  // namespace holdfast
