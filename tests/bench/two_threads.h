// The way of a command through a server of two threads, played by one: a session, its thread's mailboxes, the shard of the
// item's owner, the gate, and back, with the server's own parts and none of its sockets and files. What Loop does for
// each turn is done here for each batch of requests, so that the instructions of the whole way can be counted.
#pragma once

#include "server/post.h"
#include "server/shard.h"
#include "tests/unit/server/session_fixture.h"

#include <memory>

namespace holdfast::bench {

class TwoThreads final : public SessionHost {
 public:
  static constexpr ThreadIndex kOwner{0};
  static constexpr std::uint16_t kThreads = 2;

  /// `from`: the thread whose connection asks; the owner of all items is kOwner.
  explicit TwoThreads(ThreadIndex from, bool views);
  /// A name whose owner is kOwner.
  static std::string item();

  /// One turn: bytes of whole requests come in; returns the bytes of their replies, which are durable.
  std::string_view ask(std::string_view requests);
  /// After ask(): its replies are on the wire.
  void sent() { session_.sent(session_.output().size()); }

  // SessionHost, as Loop has it.

  const Options& options() const override { return options_; }
  Result<void> change_options(const OptionsChange& change) override { return change(options_); }
  const Users& users() const override { return users_; }
  void notice(std::string_view) override {}
  ServerStatus status() override { return {}; }
  ViewMap* views() override { return &views_; }
  ViewTime view_time() override;
  void begin_input() override { view_time_.reset(); }
  Telemetry& telemetry() override { return telemetry_; }
  ClockReading read_clock() override { return {now_.hold.time_since_epoch(), now_.wall.time_since_epoch()}; }
  bool loading() override { return false; }
  RequestBuffer& request_buffer() override { return *request_buffer_; }
  const Router& router() const override { return hub_.router; }
  void forward(ShardIndex shard, const StepCommand& command) override;
  bool has_credit() const override { return credits_ > 0; }
  PubSub& pubsub() override { return hub_.pubsub; }
  SnapshotBoard& snapshots() override { return hub_.snapshots; }
  void deliver(Delivery) override {}
  ThreadIndex thread() const override { return post_.self(); }
  void forget(ConnectionKey) override {}
  void end_waits(ConnectionKey, WaitEnd) override {}
  Control& control() override { return control_; }
  void shut_down() override {}

 private:
  void send_block();
  void run_owner();
  void commit();
  void take_replies();
  void learn_views();

  Options options_;
  Hub hub_;
  Post post_;        // of the connection's thread
  Post owner_post_;  // of the owner's
  Telemetry telemetry_{options_, hub_.telemetry};
  Telemetry owner_telemetry_{options_, hub_.telemetry};
  Users users_;
  PlayedControl control_;
  std::unique_ptr<RequestBuffer> request_buffer_ = std::make_unique<RequestBuffer>();
  std::unique_ptr<CommandBlock> filling_;
  std::uint64_t credits_ = kCreditsMax;
  Shard shard_;
  ViewMap views_;
  std::optional<ViewTime> view_time_;
  Lsn next_lsn_{1};
  Now now_{hold_time(1'000'000), wall_time(1'800'000'000'000), {}};
  Session session_;
};

}  // namespace holdfast::bench
