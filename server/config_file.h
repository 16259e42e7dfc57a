// The configuration file: options by their names, and users. The shell around toml++; its exceptions end here.
//
//   bind = "10.0.0.5"
//   ended-retention = "48h"
//
//   [users.shop]
//   roles = ["reader", "buyer"]            # see roles.def; none includes another
//   secrets = ["sha256:<64 hex digits>"]   # up to four; holdfastctl user-secret makes one
//   disabled = false                       # may be left out
#pragma once

#include "server/options.h"

namespace holdfast {

/// Adds what the file says to options, users and warnings. An error names the file, the line and the key, and what may
/// stand there; it never repeats what may be a secret.
Result<void> read_config_file(const std::string& path, CommandLine& line);

}  // namespace holdfast
