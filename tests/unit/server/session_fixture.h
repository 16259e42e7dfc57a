// A session with everything around it played: bytes go in as a client would send them, forwarded commands are kept for
// the test to answer.
#pragma once

#include "server/options.h"
#include "server/session.h"

#include <initializer_list>
#include <string>
#include <vector>

namespace holdfast {

inline std::string request(std::initializer_list<std::string> words) {
  std::string bytes = "*" + std::to_string(words.size()) + "\r\n";
  for (const std::string& word : words) bytes += "$" + std::to_string(word.size()) + "\r\n" + word + "\r\n";
  return bytes;
}

class PlayedHost final : public SessionHost {
 public:
  struct Forwarded {
    CommandId id;
    ReplyAddress address;
    RespVersion version;
    std::vector<std::string> words;
  };

  const Options& options() const override { return options_; }
  void set_options(const Options& options) override { options_ = options; }
  const Users& users() const override { return known; }
  void notice(std::string_view line) override { notices.emplace_back(line); }
  ServerStatus status() override { return server; }
  Telemetry& telemetry() override { return telemetry_; }
  ClockReading read_clock() override {
    return {std::chrono::seconds(5), std::chrono::microseconds(1'700'000'000'123'456)};
  }
  bool loading() const override { return server.loading; }
  RequestBuffer& request_buffer() override { return *buffer_; }
  void forward(const StepCommand& command) override {
    forwarded.push_back({command.entry->id, command.address, command.version,
                         std::vector<std::string>(command.words.begin(), command.words.end())});
  }
  bool has_credit() const override { return credit; }
  void forget(ConnectionKey) override {}

  ServerStatus server;
  Users known;
  std::vector<std::string> notices;
  bool credit = true;
  std::vector<Forwarded> forwarded;

 private:
  Options options_;
  Telemetry telemetry_{options_};
  std::unique_ptr<RequestBuffer> buffer_ = std::make_unique<RequestBuffer>();
};

/// A connection of it.
class PlayedSession {
 public:
  explicit PlayedSession(PlayedHost& host)
      : session({7, 3}, 42, {"127.0.0.1:5000", "127.0.0.1:7379", 9}, WallTime(Millis(1'700'000'000'000)), host) {}

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
