#include "server/metrics_server.h"

#include "server/limits.h"
#include "server/metrics_text.h"
#include "server/process_figures.h"

#include <sys/socket.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>

#include <list>
#include <optional>
#include <thread>

namespace holdfast {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using Tcp = asio::ip::tcp;
using ErrorCodeOf = boost::system::error_code;

constexpr std::string_view kMetricsType = "text/plain; version=0.0.4; charset=utf-8";
constexpr std::string_view kTextType = "text/plain; charset=utf-8";
/// What is read and dropped of a request that was refused, so that its sender sees why.
constexpr std::size_t kDroppedBytesMax = 64 * 1024;

struct Answer {
  http::status status;
  std::string body;
  std::string_view type = kTextType;
};

std::string_view path_of(std::string_view target) { return target.substr(0, target.find('?')); }

}  // namespace

class MetricsServer::Impl {
 public:
  Impl(FileDescriptor listener, MetricsCollector& collector);
  ~Impl();

 private:
  class Connection;
  using Connections = std::list<std::shared_ptr<Connection>>;

  void do_accept();
  void admit(Tcp::socket socket);
  void remove(Connections::iterator place) { connections_.erase(place); }

  MetricsCollector& collector_;
  asio::io_context context_{1};
  Tcp::acceptor acceptor_{context_};
  asio::steady_timer pause_{context_};
  Connections connections_;  // the one that has been idle longest first, the busy ones among them
  std::thread thread_;
};

/// One connection: reads a request, answers, reads the next. Lives as long as an operation of it does.
class MetricsServer::Impl::Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(Tcp::socket socket, Impl& server)
      : server_(server), stream_(std::move(socket)), timer_(stream_.get_executor()) {}

  void start(Connections::iterator place) {
    place_ = place;
    stream_.expires_after(kMetricsDeadline);
    do_read();
  }
  bool idle() const noexcept { return idle_; }
  /// Ends what it waits for; it then goes.
  void close() {
    idle_ = false;
    timer_.cancel();
    stream_.close();
  }

 private:
  /// The wait for the next request's first byte may be long, its reading may not.
  void do_wait() {
    idle_ = true;
    server_.connections_.splice(server_.connections_.end(), server_.connections_, place_);
    if (buffer_.size() > 0) return begin_read();
    stream_.socket().async_wait(Tcp::socket::wait_read, [self = shared_from_this()](ErrorCodeOf ec) {
      if (ec) return self->leave();
      self->begin_read();
    });
    // async_wait of the socket itself knows no deadline of the stream.
    timer_.expires_after(kMetricsIdle);
    timer_.async_wait([self = shared_from_this()](ErrorCodeOf ec) {
      if (!ec && self->idle_) self->stream_.socket().cancel(ec);
    });
  }

  void begin_read() {
    timer_.cancel();
    stream_.expires_after(kMetricsDeadline);
    do_read();
  }

  void do_read() {
    parser_.emplace();
    parser_->header_limit(kMetricsHeaderBytesMax);
    http::async_read_header(stream_, buffer_, *parser_,
                            [self = shared_from_this()](ErrorCodeOf ec, std::size_t) { self->on_read(ec); });
  }

  void on_read(ErrorCodeOf ec) {
    idle_ = false;
    keep_alive_ = false;
    head_ = false;
    if (ec == http::error::header_limit || ec == http::error::buffer_overflow) {
      return do_write({http::status::request_header_fields_too_large,
                       "the request line and the headers may have 8 KiB together\n"});
    }
    if (ec.category() == http::make_error_code(http::error::end_of_stream).category() &&
        ec != http::error::end_of_stream && ec != http::error::partial_message) {
      return do_write({http::status::bad_request, "this is not a valid HTTP request: " + ec.message() + "\n"});
    }
    if (ec) return leave();
    route(parser_->get());
  }

  void route(const http::request<http::empty_body>& request) {
    const std::string_view path = path_of({request.target().data(), request.target().size()});
    if (parser_->chunked() || parser_->content_length().value_or(0) > 0) {
      return do_write({http::status::bad_request, "a request here has no body\n"});
    }
    keep_alive_ = request.keep_alive();
    head_ = request.method() == http::verb::head;
    const bool known = path == "/metrics" || path == "/healthz" || path == "/readyz";
    if (!known) return do_write({http::status::not_found, "there are /metrics, /healthz and /readyz\n"});
    if (!head_ && request.method() != http::verb::get) {
      return do_write({http::status::method_not_allowed, "only GET and HEAD are allowed\n"});
    }
    if (path == "/healthz") return do_write({http::status::ok, "ok\n"});
    if (path == "/readyz") return write_readiness();
    asked_ = server_.collector_.ask_items();
    waited_until_ = std::chrono::steady_clock::now() + kReportWait;
    do_await_items();
  }

  void write_readiness() {
    const MetricsCollector::Readiness readiness = server_.collector_.readiness();
    do_write({readiness.ready ? http::status::ok : http::status::service_unavailable, readiness.text + "\n"});
  }

  /// The shard answers in its own turn; when that takes too long, its last answer has to do.
  void do_await_items() {
    const bool fresh = server_.collector_.has_items_since(asked_);
    if (fresh || std::chrono::steady_clock::now() >= waited_until_) {
      return do_write({http::status::ok, metrics_text(server_.collector_.collect(fresh)), kMetricsType});
    }
    timer_.expires_after(kReportPoll);
    timer_.async_wait([self = shared_from_this()](ErrorCodeOf ec) {
      if (ec) return self->leave();
      self->do_await_items();
    });
  }

  void do_write(Answer answer) {
    const auto fill = [&](auto& response) {
      response.set(http::field::content_type, beast::string_view(answer.type.data(), answer.type.size()));
      response.set(http::field::cache_control, "no-store");
      if (answer.status == http::status::method_not_allowed) response.set(http::field::allow, "GET, HEAD");
      response.keep_alive(keep_alive_);
      response.content_length(answer.body.size());
    };
    stream_.expires_after(kMetricsDeadline);
    const auto done = [self = shared_from_this()](ErrorCodeOf ec, std::size_t) { self->on_written(ec); };
    if (head_) {
      http::response<http::empty_body> response(answer.status, 11);
      fill(response);
      return beast::async_write(stream_, http::message_generator(std::move(response)), done);
    }
    http::response<http::string_body> response(answer.status, 11);
    fill(response);
    response.body() = std::move(answer.body);
    beast::async_write(stream_, http::message_generator(std::move(response)), done);
  }

  void on_written(ErrorCodeOf ec) {
    if (ec) return leave();
    if (keep_alive_) return do_wait();
    stream_.socket().shutdown(Tcp::socket::shutdown_send, ec);
    // Closing with input unread would take the answer away from who has not read it yet.
    idle_ = true;
    stream_.expires_after(kMetricsDeadline);
    do_drop();
  }

  void do_drop() {
    stream_.async_read_some(asio::buffer(dropped_), [self = shared_from_this()](ErrorCodeOf ec, std::size_t size) {
      self->dropped_bytes_ += size;
      if (ec || self->dropped_bytes_ > kDroppedBytesMax) return self->leave();
      self->do_drop();
    });
  }

  void leave() {
    if (std::exchange(left_, true)) return;
    close();
    server_.remove(place_);
  }

  Impl& server_;
  beast::tcp_stream stream_;
  asio::steady_timer timer_;
  beast::flat_buffer buffer_{kMetricsHeaderBytesMax + 512};
  std::optional<http::request_parser<http::empty_body>> parser_;
  Connections::iterator place_;
  bool idle_ = true;
  bool keep_alive_ = false;
  bool head_ = false;
  bool left_ = false;
  std::uint64_t asked_ = 0;
  std::chrono::steady_clock::time_point waited_until_;
  std::array<char, 1024> dropped_{};
  std::size_t dropped_bytes_ = 0;
};

MetricsServer::Impl::Impl(FileDescriptor listener, MetricsCollector& collector) : collector_(collector) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size);
  acceptor_.assign(address.ss_family == AF_INET6 ? Tcp::v6() : Tcp::v4(), listener.release());
  do_accept();
  thread_ = std::thread([this] {
    name_thread("metrics");
    context_.run();
  });
}

MetricsServer::Impl::~Impl() {
  context_.stop();
  thread_.join();
}

void MetricsServer::Impl::do_accept() {
  acceptor_.async_accept([this](ErrorCodeOf ec, Tcp::socket socket) {
    if (!ec) {
      admit(std::move(socket));
      return do_accept();
    }
    // Without descriptors the next try would fail at once, too.
    pause_.expires_after(kAcceptPause);
    pause_.async_wait([this](ErrorCodeOf) { do_accept(); });
  });
}

void MetricsServer::Impl::admit(Tcp::socket socket) {
  if (connections_.size() >= kMetricsConnectionsMax) {
    const auto idle = std::find_if(connections_.begin(), connections_.end(),
                                   [](const auto& connection) { return connection->idle(); });
    if (idle == connections_.end()) return;  // closes the new one
    (*idle)->close();
  }
  connections_.push_back(std::make_shared<Connection>(std::move(socket), *this));
  connections_.back()->start(std::prev(connections_.end()));
}

MetricsServer::MetricsServer(FileDescriptor listener, MetricsCollector& collector)
    : impl_(std::make_unique<Impl>(std::move(listener), collector)) {}
MetricsServer::~MetricsServer() = default;

}  // namespace holdfast
