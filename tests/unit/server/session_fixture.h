// A session with everything around it played: bytes go in as a client would send them, forwarded commands are kept for
// the test to answer.
#pragma once

#include "server/options.h"
#include "server/session.h"

#include <algorithm>
#include <initializer_list>
#include <string>
#include <vector>

namespace holdfast {

inline std::string request(std::initializer_list<std::string> words) {
  std::string bytes = "*" + std::to_string(words.size()) + "\r\n";
  for (const std::string& word : words) bytes += "$" + std::to_string(word.size()) + "\r\n" + word + "\r\n";
  return bytes;
}

/// Keeps what commands ask of it for the test to look at and to answer.
class PlayedControl final : public Control {
 public:
  PlayedControl() : Control(monitoring) {}
  void order(ConnectionOrder order) override { orders.push_back(std::move(order)); }
  void wait(const ClientWait& wait) override { waits.push_back(wait); }
  void ask_log(StreamRequest request) override { log_requests.push_back(std::move(request)); }
  void monitor(ConnectionKey, bool on) override { monitoring = on ? 1 : 0; }
  bool may_monitor() const override { return room_for_monitors; }
  void tell_monitors(std::string_view line) override { lines.emplace_back(line); }
  void shut_down() override { ++shutdowns; }

  std::vector<ConnectionOrder> orders;
  std::vector<ClientWait> waits;
  std::vector<StreamRequest> log_requests;
  std::vector<std::string> lines;
  bool room_for_monitors = true;
  int shutdowns = 0;
  std::atomic<std::uint32_t> monitoring{0};
};

class PlayedHost final : public SessionHost {
 public:
  struct Forwarded {
    CommandId id;
    ReplyAddress address;
    RespVersion version;
    std::vector<std::string> words;
    ShardIndex shard{};
    bool further = false;
  };

  /// `shards`: that commands are forwarded to.
  explicit PlayedHost(std::uint16_t shards = 1) : router_(shards) {}

  const Options& options() const override { return options_; }
  Result<void> change_options(const OptionsChange& change) override {
    Options changed = options_;
    HOLDFAST_TRY(change(changed));
    options_ = changed;
    return {};
  }
  const Users& users() const override { return known; }
  void notice(std::string_view line) override { notices.emplace_back(line); }
  ServerStatus status() override { return server; }
  ViewMap* views() override { return nullptr; }
  ViewTime view_time() override { return {}; }
  void begin_input() override {}
  Telemetry& telemetry() override { return telemetry_; }
  ClockReading read_clock() override {
    return {std::chrono::seconds(5), std::chrono::microseconds(1'700'000'000'123'456)};
  }
  bool loading() override { return server.loading; }
  RequestBuffer& request_buffer() override { return *buffer_; }
  const Router& router() const override { return router_; }
  void forward(ShardIndex shard, const StepCommand& command) override {
    forwarded.push_back({command.entry->id, command.address, command.version,
                         std::vector<std::string>(command.words.begin(), command.words.end()), shard, command.further});
  }
  bool has_credit() const override { return credit; }
  PubSub& pubsub() override { return pubsub_; }
  SnapshotBoard& snapshots() override { return snapshots_; }
  void deliver(Delivery delivery) override {
    for (Session* session : sessions) {
      const auto& to = delivery.connections;
      if (std::find(to.begin(), to.end(), session->key()) == to.end()) continue;
      session->push(delivery.kind, delivery.name, delivery.message);
    }
  }
  ThreadIndex thread() const override { return {}; }
  void forget(ConnectionKey) override {}
  void end_waits(ConnectionKey, WaitEnd) override {}
  Control& control() override { return played; }
  void shut_down() override { ++played.shutdowns; }

  ServerStatus server;
  PlayedControl played;
  Users known;
  std::vector<std::string> notices;
  bool credit = true;
  std::vector<Forwarded> forwarded;
  std::vector<Session*> sessions;  // that messages reach

 private:
  Options options_;
  Router router_;
  PubSub pubsub_;
  SnapshotBoard snapshots_;
  SharedTelemetry shared_;
  Telemetry telemetry_{options_, shared_};
  std::unique_ptr<RequestBuffer> buffer_ = std::make_unique<RequestBuffer>();
};

/// A connection of it.
class PlayedSession {
 public:
  explicit PlayedSession(PlayedHost& host, ConnectionKey key = {7, 3})
      : session(key, 42, {"127.0.0.1:5000", "127.0.0.1:7379", 9}, WallTime(Millis(1'700'000'000'000)), host) {}

  /// Sends bytes and returns what comes back at once.
  std::string send(std::string_view bytes) {
    input_.append(bytes);
    Session::Turn turn;
    input_.erase(0, session.receive(input_, turn));
    return take();
  }
  std::string ask(std::initializer_list<std::string> words) { return send(request(words)); }
  /// What may go to the socket by now.
  std::string take() {
    std::string output(session.output());
    session.sent(output.size());
    return output;
  }
  std::size_t unread() const noexcept { return input_.size(); }

  Session session;

 private:
  std::string input_;
};

}  // namespace holdfast
