// One connection without its socket: bytes in, commands for the owners of items out; replies in, bytes in request order
// out. Commands about the connection or the server are answered here. No I/O and no clock of its own; the connection's
// thread. Server commands reach the rest of the server through SessionHost only.
#pragma once

#include "protocol/command_table.h"
#include "protocol/reply_writer.h"
#include "protocol/resp_parser.h"
#include "server/message.h"
#include "server/reply_queue.h"
#include "server/server_status.h"
#include "server/telemetry.h"
#include "server/users.h"
#include "storage/clock.h"

#include <string>

namespace holdfast {

struct Options;

/// What the sessions of one thread share and ask for.
class SessionHost {
 public:
  virtual ~SessionHost() = default;
  virtual const Options& options() const = 0;
  /// CONFIG SET: takes the live options of these.
  virtual void set_options(const Options& options) = 0;
  virtual const Users& users() const = 0;
  /// A line for the operator.
  virtual void notice(std::string_view line) = 0;
  virtual ServerStatus status() = 0;
  /// What the thread counts about its work.
  virtual Telemetry& telemetry() = 0;
  virtual ClockReading read_clock() = 0;
  /// Whether the log is still being replayed; then items cannot be asked.
  virtual bool loading() const = 0;
  /// Where the words of the request at hand stand.
  virtual RequestBuffer& request_buffer() = 0;

  /// Takes a command for the owner of its item; its reply comes by Session::answer. REQUIRES: has_credit().
  virtual void forward(const StepCommand& command) = 0;
  /// Whether the owners take another command now.
  virtual bool has_credit() const = 0;
  /// The connection is gone: owners need not keep what it waits for.
  virtual void forget(ConnectionKey connection) = 0;
};

class Session {
 public:
  /// What a connection may still do in this turn.
  struct Turn {
    std::uint32_t commands = kTurnCommandsMax;
    std::size_t bytes = kTurnBytesMax;
  };
  /// Where it comes from, as CLIENT INFO shows it.
  struct Peer {
    std::string address;
    std::string local_address;
    int fd = -1;
  };

  Session(ConnectionKey key, std::uint64_t id, Peer peer, WallTime began, SessionHost& host);

  /// Executes what of the input is whole, within the turn and the limits; returns how many bytes are done with. What
  /// remains is passed again, with more behind it, or as it is when wants_input() holds.
  std::size_t receive(std::string_view input, Turn& turn);
  /// Whether it would execute a command now, were one there and had the owners credit.
  bool wants_input() const noexcept;
  /// The reply to a command that was forwarded.
  void answer(ReplySlot slot, std::string_view bytes);

  std::string_view output() const noexcept { return replies_.ready(); }
  void sent(std::size_t bytes) { replies_.sent(bytes); }
  std::size_t output_bytes() const noexcept { return replies_.bytes(); }
  std::uint32_t unanswered() const noexcept { return replies_.open_count(); }
  /// Bytes of memory that it keeps for replies.
  std::size_t memory() const noexcept { return replies_.memory(); }
  bool authenticated() const noexcept { return (user_->roles & role_bit(Role::any)) != 0; }
  /// Without the port.
  std::string_view host_address() const noexcept {
    return std::string_view(peer_.address).substr(0, peer_.address.rfind(':'));
  }
  const std::string& address() const noexcept { return peer_.address; }
  /// Whether it ever asked to wait (RESERVATION WAIT).
  bool waits() const noexcept { return waits_; }
  /// Nothing more is executed; the connection closes once all replies are sent.
  bool closing() const noexcept { return closing_; }
  bool finished() const noexcept { return closing_ && replies_.open_count() == 0 && replies_.ready().empty(); }
  /// The peer sends no more, or the server stops: as QUIT without its reply.
  void close() noexcept { closing_ = true; }
  /// Why it is closing, as far as it is its own doing.
  CloseReason close_reason() const noexcept { return close_reason_; }

  // For the commands (session_commands.cc and others).

  ConnectionKey key() const noexcept { return key_; }
  std::uint64_t id() const noexcept { return id_; }
  SessionHost& host() noexcept { return host_; }
  RespVersion version() const noexcept { return version_; }
  void set_version(RespVersion version) noexcept { version_ = version; }
  const Peer& peer() const noexcept { return peer_; }
  const std::string& name() const noexcept { return name_; }
  void set_name(std::string_view name) { name_ = name; }
  void set_library(std::string_view name) { library_ = name; }
  void set_library_version(std::string_view version) { library_version_ = version; }
  const User& user() const noexcept { return *user_; }
  /// Becomes the user if the secret is right. Otherwise nothing changes, but after kWrongSecretsMax the session closes.
  [[nodiscard]] bool authenticate(std::string_view user, std::string_view secret);
  /// CLIENT NO-EVICT.
  void keep(bool on) noexcept { kept_ = on; }
  bool kept() const noexcept { return kept_; }
  /// CLIENT REPLY.
  void mute(bool on) noexcept { muted_ = mute_this_ = on; }
  void mute_next() noexcept { mute_after_ = true; }
  bool muted() const noexcept { return muted_; }
  /// RESET: RESP2, no name, replies on, not authenticated.
  void reset();
  /// The fields of CLIENT INFO, one line.
  std::string describe(WallTime now) const;
  std::uint32_t wrong_secrets() const noexcept { return wrong_secrets_; }

 private:
  void execute(Words words);
  void execute_here(const CommandEntry& entry, Words words);
  void forward(const CommandEntry& entry, Words words);
  void refuse(const Error& error);
  void reject(const CommandEntry* entry);
  void refuse_role(const CommandEntry& entry);
  bool silent() const noexcept { return muted_ || mute_this_; }

  SessionHost& host_;
  ThreadStats& stats_;
  RespParser parser_;
  ReplyQueue replies_;
  ConnectionKey key_;
  std::uint64_t id_;
  RespVersion version_ = RespVersion::resp2;
  bool closing_ = false;
  CloseReason close_reason_ = CloseReason::quit;
  bool muted_ = false;       // CLIENT REPLY OFF
  bool mute_this_ = false;   // CLIENT REPLY SKIP came just before
  bool mute_after_ = false;  // CLIENT REPLY SKIP is this one
  bool waits_ = false;
  bool large_open_ = false;  // a reply of any size is on its way: nothing else is executed meanwhile
  ReplySlot large_slot_;
  std::uint32_t wrong_secrets_ = 0;
  bool kept_ = false;
  const User* user_;  // of the host's
  const CommandEntry* last_ = nullptr;
  std::string name_, library_, library_version_;
  Peer peer_;
  WallTime began_;
};

}  // namespace holdfast
