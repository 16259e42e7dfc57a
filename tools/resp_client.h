// A connection to a server, for programs that ask and wait. Debian's hiredis (0.14) knows no RESP3, whose maps these
// programs need. One thread at a time.
#pragma once

#include "replication/socket_interrupt.h"
#include "tools/credentials.h"
#include "tools/reply.h"

#include <chrono>
#include <memory>

namespace holdfast {

/// Whether it is HOST:PORT. Errors: bad_option.
Result<void> check_server(const std::string& server);

class RespClient {
 public:
  /// `server` is HOST:PORT, HOST a name or an address ([::1]:7379 for IPv6). Speaks RESP3, as the user of `credentials`
  /// if they are given. Errors: io_failed, saying which server; bad_option for a server that cannot be read; no_auth and
  /// wrong_pass when the server wants other credentials. `interrupt`, if there is one, outlives the connection and ends
  /// what it waits for, all but the look-up of the host's name.
  static Result<std::unique_ptr<RespClient>> connect(const std::string& server, std::chrono::seconds timeout,
                                                     const Credentials& credentials,
                                                     SocketInterrupt* interrupt = nullptr);
  ~RespClient();
  RespClient(const RespClient&) = delete;
  RespClient& operator=(const RespClient&) = delete;

  /// One request, its reply. An error reply is a reply; a connection that is lost or too slow is an error.
  Result<Reply> ask(const std::vector<std::string>& words);
  /// Many at once, their replies in order. REQUIRES: so few that they fit the socket while nothing of the replies is
  /// read: 64 KiB of requests at most.
  Result<std::vector<Reply>> ask_all(const std::vector<std::vector<std::string>>& requests);

 private:
  RespClient(int fd, std::string server, SocketInterrupt* interrupt)
      : fd_(fd), server_(std::move(server)), interrupt_(interrupt) {}
  Result<void> greet(const Credentials& credentials);
  Result<void> write(std::string_view bytes);
  Result<Reply> read();

  int fd_;
  std::string server_;
  SocketInterrupt* interrupt_;
  std::string input_;
};

}  // namespace holdfast
