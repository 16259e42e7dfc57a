#include <boost/asio.hpp>
#include <boost/redis.hpp>
#include <boost/redis/src.hpp>  // in one source of the program
#include <boost/uuid.hpp>
#include <iostream>

namespace asio = boost::asio;
namespace redis = boost::redis;

asio::awaitable<void> order(std::shared_ptr<redis::connection> connection) {
  const auto id = to_string(boost::uuids::random_generator()());  // kept with the order: repeating it means the same units
  redis::request reserve, confirm;
  reserve.push("RESERVE", "item:1001", "42", "ID", id);
  confirm.push("CONFIRM", "item:1001", "42", "ID", id);
  redis::response<long long> left, confirmed;
  co_await connection->async_exec(reserve, left);
  if (std::get<0>(left).value() < 0) {
    std::cout << "refused: " << std::get<0>(left).value() << '\n';  // -1 is sold out; the manual lists them all
  } else {
    std::cout << "reserved, " << std::get<0>(left).value() << " left\n";
    co_await connection->async_exec(confirm, confirmed);
    std::cout << "confirmed: " << std::get<0>(confirmed).value() << '\n';
  }
  connection->cancel();
}

int main() {
  asio::io_context context;
  auto connection = std::make_shared<redis::connection>(context);
  redis::config config;
  const char* port = std::getenv("PORT");
  config.addr = {"127.0.0.1", port ? port : "7379"};
  connection->async_run(config, asio::consign(asio::detached, connection));
  asio::co_spawn(context, order(connection), [](std::exception_ptr failure) {
    if (failure) std::rethrow_exception(failure);
  });
  context.run();
}
