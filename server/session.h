// One connection without its socket: bytes in, commands for the owners of items out; replies in, bytes in request order
// out. Commands about the connection or the server are answered here. No I/O and no clock of its own; the connection's
// thread. Server commands reach the rest of the server through SessionHost only.
#pragma once

#include "protocol/command_table.h"
#include "protocol/reply_writer.h"
#include "protocol/resp_parser.h"
#include "server/control.h"
#include "server/gather.h"
#include "server/message.h"
#include "server/reply_queue.h"
#include "server/server_status.h"
#include "server/subscriptions.h"
#include "server/telemetry.h"
#include "server/transaction.h"
#include "server/users.h"
#include "server/view_map.h"
#include "storage/clock.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace holdfast {

struct Options;

/// Sets some of the live options.
using OptionsChange = std::function<Result<void>(Options&)>;

/// What the sessions of one thread share and ask for.
class SessionHost {
 public:
  virtual ~SessionHost() = default;
  virtual const Options& options() const = 0;
  /// CONFIG SET: what `change` does to the options holds for all threads; when it fails, nothing does.
  virtual Result<void> change_options(const OptionsChange& change) = 0;
  virtual const Users& users() const = 0;
  /// A line for the operator.
  virtual void notice(std::string_view line) = 0;
  virtual ServerStatus status() = 0;
  /// Views that the thread knows; nothing while it loads.
  virtual ViewMap* views() = 0;
  /// A time after the input at hand came.
  virtual ViewTime view_time() = 0;
  /// What follows is about input that came until now.
  virtual void begin_input() = 0;
  /// What the thread counts about its work.
  virtual Telemetry& telemetry() = 0;
  virtual ClockReading read_clock() = 0;
  /// Whether the log is still being replayed; then items cannot be asked.
  virtual bool loading() = 0;
  /// Where the words of the request at hand stand.
  virtual RequestBuffer& request_buffer() = 0;

  /// Which shard executes what.
  virtual const Router& router() const = 0;
  /// Takes a command for a shard; its reply comes by Session::answer. REQUIRES: has_credit(), and no more than one
  /// command for each shard since that was asked.
  virtual void forward(ShardIndex shard, const StepCommand& command) = 0;
  /// Whether every shard takes another command now.
  virtual bool has_credit() const = 0;
  /// Who listens to what, on all threads.
  virtual PubSub& pubsub() = 0;
  /// For asking for a snapshot.
  virtual SnapshotBoard& snapshots() = 0;
  /// Takes a message to those who listen.
  virtual void deliver(Delivery delivery) = 0;
  /// Which of the threads this is.
  virtual ThreadIndex thread() const = 0;
  /// The connection is gone: owners need not keep what it waits for.
  virtual void forget(ConnectionKey connection) = 0;
  /// The connection's RESERVATION WAITs are answered now: as things stand, or with an error.
  virtual void end_waits(ConnectionKey connection, WaitEnd how) = 0;
  virtual Control& control() = 0;
  /// As SIGTERM does.
  virtual void shut_down() = 0;
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
  /// The reply to a command that was deferred.
  void answer(ReplySlot slot, std::string_view bytes);
  /// A shard's reply to a command that was forwarded, or to its part of it.
  void answer_from(ShardIndex shard, ReplySlot slot, std::string_view bytes);

  std::string_view output() const noexcept { return replies_.ready(); }
  void sent(std::size_t bytes) { replies_.sent(bytes); }
  std::size_t output_bytes() const noexcept { return replies_.bytes(); }
  std::uint32_t unanswered() const noexcept { return replies_.open_count(); }
  /// Bytes of memory that it keeps for replies, messages and queued commands.
  std::size_t memory() const noexcept;
  bool authenticated() const noexcept { return (user_->roles & role_bit(Role::any)) != 0; }
  /// Without the port.
  std::string_view host_address() const noexcept {
    return std::string_view(peer_.address).substr(0, peer_.address.rfind(':'));
  }
  const std::string& address() const noexcept { return peer_.address; }
  /// Whether owners may keep something for it (RESERVATION WAIT, WATCH).
  bool waits() const noexcept { return waits_; }
  /// Whether a command of it waits now.
  bool blocked() const noexcept { return !waiting_.empty(); }
  /// Nothing more is executed; the connection closes once all replies are sent.
  bool closing() const noexcept { return closing_; }
  bool finished() const noexcept {
    return cut_ || (closing_ && replies_.open_count() == 0 && replies_.ready().empty());
  }
  /// What it still has to send is dropped and it closes.
  void cut() noexcept {
    close(CloseReason::subscriber);
    cut_ = true;
  }
  bool is_cut() const noexcept { return cut_; }
  /// A line of MONITOR, behind the replies so far.
  void show(std::string_view line);
  /// As QUIT without its reply. The first reason counts.
  void close(CloseReason reason) noexcept {
    if (!std::exchange(closing_, true)) close_reason_ = reason;
  }
  /// REQUIRES: closing().
  CloseReason close_reason() const noexcept { return close_reason_; }

  // Messages of others.

  /// Takes a message of PubSub, unless it no longer listens to that name; one that is too far behind overflows instead.
  void push(ChannelKind kind, std::string_view name, std::string_view message);
  /// Closes at once.
  bool overflowed() const noexcept { return overflowed_; }
  /// Whether first notices of holdfast:items are still to come, and whether the next page of them should be asked for.
  bool reads_notices() const noexcept { return subscriptions_ != nullptr && !subscriptions_->readings.empty(); }
  bool wants_notices() const noexcept;
  /// REQUIRES: wants_notices(), and the owners have credit.
  void ask_notices();
  /// Nobody publishes to it any more.
  void leave_channels();

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
  Transaction& transaction();
  bool in_transaction() const noexcept { return transaction_ != nullptr && transaction_->is_open(); }
  bool has_subscriptions() const noexcept { return subscriptions_ != nullptr && subscriptions_->total() > 0; }
  Subscriptions& subscriptions();
  Listener listener() const noexcept { return {host_.thread(), key_}; }
  /// Whether it speaks RESP2 and is subscribed to something.
  bool in_subscriber_mode() const noexcept { return version_ == RespVersion::resp2 && has_subscriptions(); }
  /// In the function of a command: instead of a reply from here, the owner's reply to this message. `words` live until
  /// the function has returned.
  void send_to_owner(Words words) noexcept { message_ = words; }
  /// RESET: RESP2, no name, no transaction, no subscriptions, replies on, not authenticated.
  void reset();
  /// For a command that answers later: its reply's place. It writes nothing itself, and no other command of this
  /// connection is executed before. `waits`: CLIENT UNBLOCK may end it.
  ReplySlot defer(bool waits);
  /// The same for a command about the log.
  ReplySlot defer_to_log() {
    log_slot_ = defer(true);
    return *log_slot_;
  }
  /// Whether such a command has no answer yet.
  bool asks_log() const noexcept { return log_slot_.has_value(); }
  /// MONITOR.
  bool monitors() const noexcept { return monitors_; }
  void set_monitors(bool on) noexcept { monitors_ = on; }
  void set_no_touch(bool on) noexcept { no_touch_ = on; }
  /// Its part of CLIENT INFO.
  ClientFacts facts(WallTime now) const;
  std::uint32_t wrong_secrets() const noexcept { return wrong_secrets_; }

 private:
  void execute(Words words);
  void execute_here(const CommandEntry& entry, Words words);
  void forward(const CommandEntry& entry, Words words);
  void queue(const CommandEntry& entry, Words words);
  void forward_message(const CommandEntry& entry);
  void send(const StepCommand& command);
  void scatter(StepCommand command);
  void forward_to(ShardIndex shard, const StepCommand& command);
  bool refuse_from_view(const CommandEntry& entry, Words words);
  void take_page(ReplySlot slot, std::string_view bytes);
  void send_late_pushes();
  void refuse(const Error& error);
  void tell_monitors(const CommandEntry& entry, Words words);
  void reject(const CommandEntry* entry);
  void refuse_role(const CommandEntry& entry);
  bool silent() const noexcept { return muted_ || mute_this_; }

  SessionHost& host_;
  Control& control_;
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
  bool deferred_ = false;  // the command at hand answers later
  bool cut_ = false;
  bool monitors_ = false;
  bool no_touch_ = false;
  std::vector<ReplySlot> waiting_;          // of commands that wait
  std::vector<std::uint16_t> outstanding_;  // commands by shard, from the first one on
  std::uint32_t outstanding_count_ = 0;     // of all shards
  /// Commands that several shards execute.
  struct Scattered {
    ReplySlot slot;
    Gather gather;
  };
  std::vector<std::unique_ptr<Scattered>> scattered_;
  bool large_open_ = false;  // a reply of any size is on its way: nothing else is executed meanwhile
  ReplySlot large_slot_;
  std::optional<ReplySlot> log_slot_;  // of a command about the log
  bool executing_ = false;             // a command's reply is being written: pushes come behind it
  bool overflowed_ = false;
  bool confirming_ = false;  // the reply to (un)subscribing may not be ready
  std::uint32_t confirmed_from_ = 0;
  Words message_;
  std::string late_pushes_;
  std::unique_ptr<Transaction> transaction_;
  std::unique_ptr<Subscriptions> subscriptions_;
  std::uint32_t wrong_secrets_ = 0;
  bool kept_ = false;
  const User* user_;  // of the host's
  const CommandEntry* last_ = nullptr;
  std::string name_, library_, library_version_;
  Peer peer_;
  WallTime began_;
};

}  // namespace holdfast
