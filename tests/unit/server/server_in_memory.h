// A whole server without sockets, disk and clock: sessions, the messages between them and the shards, the gates. Time stands
// where the test puts it, the log is durable when the test says so; same bytes in, same bytes out. One thread.
//
//   ServerInMemory server;
//   const auto buyer = server.connect();
//   server.send(buyer, request({"RESERVE", "i", "u"}));
//   server.settle();                                    // everything that can happen now has happened
//   server.take(buyer)
#pragma once

#include "server/shard.h"
#include "tests/unit/server/session_fixture.h"

#include <memory>

namespace holdfast::test {

class ServerInMemory final : public SessionHost {
 public:
  using Peer = std::size_t;

  explicit ServerInMemory(std::uint16_t shards = 1);

  Peer connect();
  /// Bytes arrive at the server; nothing is executed before settle() or turn().
  void send(Peer peer, std::string_view bytes) { peers_[peer].input.append(bytes); }
  /// What the peer has been sent since the last time.
  std::string take(Peer peer);
  bool closed(Peer peer) const noexcept { return peers_[peer].session == nullptr; }

  /// One turn of a thread: sessions, shard, gate. Returns whether anything moved.
  bool turn();
  /// Turns until nothing moves; with the log on, everything is durable then.
  void settle();
  /// While the log is off, what is written waits.
  void set_log(bool on) noexcept { log_on_ = on; }
  void pass(Millis time);

  // SessionHost.

  const Options& options() const override { return options_; }
  Result<void> change_options(const OptionsChange& change) override {
    Options changed = options_;
    HOLDFAST_TRY(change(changed));
    options_ = changed;
    return {};
  }
  const Users& users() const override { return users_; }
  void notice(std::string_view) override {}
  ServerStatus status() override;
  ClockReading read_clock() override;
  bool loading() override { return false; }
  RequestBuffer& request_buffer() override { return *request_buffer_; }
  const Router& router() const override { return router_; }
  void forward(ShardIndex shard, const StepCommand& command) override;
  bool has_credit() const override { return true; }
  PubSub& pubsub() override { return pubsub_; }
  SnapshotBoard& snapshots() override { return snapshots_; }
  void deliver(Delivery delivery) override;
  ThreadIndex thread() const override { return {}; }
  void forget(ConnectionKey connection) override { end_waits(connection, WaitEnd::forget); }
  void end_waits(ConnectionKey connection, WaitEnd how) override;
  Control& control() override { return control_; }
  ViewMap* views() override { return &*views_; }
  ViewTime view_time() override { return ViewTime::of(now_); }
  void begin_input() override {}
  Telemetry& telemetry() override { return telemetry_; }
  void shut_down() override {}

 private:
  struct Connected {
    std::unique_ptr<Session> session;
    std::string input;
    std::string output;
  };

  void read(Connected& peer, bool& moved) const;
  void write(Connected& peer, bool& moved);
  bool run_shards();
  bool run_shard(std::size_t index);
  bool commit();
  bool answer_control();
  bool ask_notices();
  void answer(ReplyAddress address, std::string_view bytes, std::optional<ShardIndex> from = {});

  Options options_;
  SharedTelemetry shared_;
  Telemetry telemetry_{options_, shared_};
  Users users_;
  PlayedControl control_;
  Router router_;
  PubSub pubsub_;
  SnapshotBoard snapshots_;
  std::unique_ptr<RequestBuffer> request_buffer_ = std::make_unique<RequestBuffer>();
  std::vector<Connected> peers_;
  std::vector<std::vector<std::unique_ptr<CommandBlock>>> blocks_;  // by shard
  std::vector<std::unique_ptr<Shard>> shards_;
  std::optional<ViewMap> views_;
  std::vector<Group*> at_log_;
  Lsn next_lsn_{1};
  bool log_on_ = true;
  Now now_{hold_time(1'000'000), wall_time(1'800'000'000'000), {}};
};

}  // namespace holdfast::test
