// A client of Boost.Redis under the runner: a command a line on stdin, an answer a line on stdout
// (tests/clients/README.md).
#include <unistd.h>

#include <boost/asio.hpp>
#include <boost/redis.hpp>
#include <boost/redis/src.hpp>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

namespace asio = boost::asio;
namespace redis = boost::redis;
using Connection = std::shared_ptr<redis::connection>;

void say(const std::string& kind, const std::string& text) { std::cout << kind << ' ' << text << std::endl; }

/// Sends one request and says its replies in a line.
asio::awaitable<void> exec(Connection connection, const redis::request& request) {
  redis::generic_response replies;
  auto [error, size] = co_await connection->async_exec(request, replies, asio::as_tuple);
  if (error) co_return say("error", error.message());
  if (replies.has_error()) co_return say("error", replies.error().diagnostic);
  std::string text;
  for (const auto& node : replies.value()) text += (text.empty() ? "" : " ") + node.value;
  say("reply", text);
}

/// Subscribes again whenever the connection came back.
asio::awaitable<void> listen(Connection connection, std::string channel) {
  redis::request request;
  request.push("SUBSCRIBE", channel);
  redis::generic_response pushed;
  connection->set_receive_response(pushed);
  while (connection->will_reconnect()) {
    co_await connection->async_exec(request, redis::ignore, asio::as_tuple);
    for (boost::system::error_code lost; !lost;) {
      co_await connection->async_receive(asio::redirect_error(lost));
      // A push is its header and its parts: the kind, the channel, the payload.
      auto& nodes = pushed.value();
      for (std::size_t at = 0; at + 3 < nodes.size(); at += 4) {
        if (nodes[at + 1].value == "message") say("notice", nodes[at + 3].value);
      }
      nodes.clear();
    }
  }
}

asio::awaitable<void> serve(Connection connection) {
  redis::request ping;
  ping.push("PING");
  co_await connection->async_exec(ping, redis::ignore);
  say("ready", "");
  asio::posix::stream_descriptor input(co_await asio::this_coro::executor, ::dup(STDIN_FILENO));
  for (std::string buffer;;) {
    const auto size = co_await asio::async_read_until(input, asio::dynamic_buffer(buffer), '\n');
    std::istringstream line(buffer.substr(0, size));
    buffer.erase(0, size);
    const std::vector<std::string> words{std::istream_iterator<std::string>(line), {}};
    redis::request request;
    if (words[0] == "close") break;
    if (words[0] == "subscribe") {
      asio::co_spawn(input.get_executor(), listen(connection, words[1]), asio::detached);
      say("reply", "subscribed");
      continue;
    }
    if (words[0] == "pipeline") {
      for (int user = 0; user < std::stoi(words[1]); ++user) request.push(words[2], words[3], user);
    } else {
      request.push_range(words[0], words.begin() + 1, words.end());
    }
    co_await exec(connection, request);
  }
  connection->cancel();
  say("reply", "closed");
}

int main(int, char** arguments) {
  asio::io_context context;
  auto connection = std::make_shared<redis::connection>(context);
  redis::config config;
  config.addr = {arguments[1], arguments[2]};
  connection->async_run(config, asio::consign(asio::detached, connection));
  asio::co_spawn(context, serve(connection), [](std::exception_ptr failure) {
    if (failure) std::rethrow_exception(failure);
  });
  context.run();
}
