#include "tools/reservation_end.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <thread>

#include "tests/doctest.h"

using namespace holdfast;

namespace {

/// A server that has its answers ready, one for each request, and then hangs up.
class Peer {
 public:
  explicit Peer(std::vector<std::string> answers) : answers_(std::move(answers)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    REQUIRE(bind(listener_, any, size) == 0);
    REQUIRE(listen(listener_, 1) == 0);
    REQUIRE(getsockname(listener_, any, &size) == 0);
    name = fmt::format("127.0.0.1:{}", ntohs(address.sin_port));
    thread_ = std::thread([this] { serve(); });
  }
  ~Peer() { end(); }
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  /// What it was asked, a line each. REQUIRES: nobody is connected any more, or all its answers were given.
  std::vector<std::string> end() {
    if (thread_.joinable()) thread_.join();
    if (listener_ >= 0) close(std::exchange(listener_, -1));
    return asked_;
  }

  std::string name;

 private:
  void serve() {
    const int fd = accept(listener_, nullptr, nullptr);
    std::string input;
    for (const std::string& answer : answers_) {
      auto request = parse_reply(input);
      for (std::array<char, 4096> bytes{}; request && !*request; request = parse_reply(input)) {
        const ssize_t got = recv(fd, bytes.data(), bytes.size(), 0);
        if (got <= 0) break;
        input.append(bytes.data(), static_cast<std::size_t>(got));
      }
      if (!request || !*request) break;
      std::string line;
      for (const Reply& word : (*request)->reply.items) line += (line.empty() ? "" : " ") + word.text;
      asked_.push_back(line);
      input.erase(0, (*request)->bytes);
      if (send(fd, answer.data(), answer.size(), MSG_NOSIGNAL) < 0) break;
    }
    close(fd);
  }

  std::vector<std::string> answers_;
  std::vector<std::string> asked_;
  int listener_ = socket(AF_INET, SOCK_STREAM, 0);
  std::thread thread_;
};

std::string state(const std::string& word) {
  return fmt::format("%1\r\n$5\r\nstate\r\n${}\r\n{}\r\n", word.size(), word);
}

struct Ended {
  std::string result;  // or the error's text
  bool sound = false;
  std::vector<std::string> asked;
};

Ended end_with(std::vector<std::string> answers, bool write_off = false) {
  answers.insert(answers.begin(), "%0\r\n");  // HELLO's
  Peer peer(std::move(answers));
  Ended ended;
  {
    const auto client = RespClient::connect(peer.name, std::chrono::seconds(10), {});
    REQUIRE(client.has_value());
    const auto found = end_reservation(**client, "item:1", "id", write_off);
    ended.sound = found.has_value();
    ended.result = found ? *found : std::string(found.error().text());
  }
  ended.asked = peer.end();
  ended.asked.erase(ended.asked.begin());
  return ended;
}

const std::string kGet = "RESERVATION GET item:1 ID id";

}  // namespace

TEST_CASE("reservation_end: one that is reserved is released, one that is confirmed is refunded") {
  auto ended = end_with({state("RESERVED"), ":7\r\n"});
  CHECK(ended.result == "RESERVED");
  CHECK(ended.asked == std::vector<std::string>{kGet, "RELEASE item:1 - ID id"});
  ended = end_with({state("CONFIRMED"), ":0\r\n"}, true);
  CHECK(ended.result == "CONFIRMED");
  CHECK(ended.asked == std::vector<std::string>{kGet, "REFUND item:1 - ID id WRITEOFF"});
}

TEST_CASE("reservation_end: one that ended is left as it is, also when it ends in between") {
  CHECK(end_with({state("EXPIRED")}).result == "EXPIRED");
  CHECK(end_with({"_\r\n"}).result.empty());
  for (const char* const refusal : {":-4\r\n", ":-3\r\n", ":-5\r\n", ":-1\r\n"}) {
    const auto ended = end_with({state("RESERVED"), refusal, state("EXPIRED")});
    CHECK(ended.sound);
    CHECK(ended.result == "EXPIRED");
    CHECK(ended.asked == std::vector<std::string>{kGet, "RELEASE item:1 - ID id", kGet});
  }
  CHECK(end_with({state("CONFIRMED"), ":-5\r\n", state("REFUNDED")}).result == "REFUNDED");
  CHECK(end_with({state("RESERVED"), ":-1\r\n", "_\r\n"}).result.empty());
}

TEST_CASE("reservation_end: one that is confirmed in between is refunded") {
  const auto ended = end_with({state("RESERVED"), ":-2\r\n", state("CONFIRMED"), ":3\r\n"});
  CHECK(ended.result == "CONFIRMED");
  CHECK(ended.asked == std::vector<std::string>{kGet, "RELEASE item:1 - ID id", kGet, "REFUND item:1 - ID id"});
}

TEST_CASE("reservation_end: a refusal is an error, and never taken as done") {
  auto ended = end_with({state("RESERVED"), ":-1\r\n", state("RESERVED"), ":-1\r\n", state("RESERVED"), ":-1\r\n"});
  CHECK_FALSE(ended.sound);
  CHECK(ended.result.find("its last answer was -1") != std::string::npos);
  ended = end_with({state("RESERVED"), "-FENCED item:1 9\r\n"});
  CHECK_FALSE(ended.sound);
  CHECK(ended.result.find("FENCED item:1 9") != std::string::npos);
}
