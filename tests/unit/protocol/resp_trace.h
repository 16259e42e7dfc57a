// What a stream of bytes means to the parser, as text, however the stream is cut. For the unit test and the fuzzer.
#pragma once

#include "protocol/resp_parser.h"

#include <memory>
#include <string>

namespace holdfast {

/// Feeds bytes in pieces to a parser, as a connection does: what is not consumed is passed again with more behind it.
class RespTrace {
 public:
  explicit RespTrace(RequestLimits limits = kRequestLimits) : limits_(limits) {}

  void feed(std::string_view piece) {
    if (failed_) return;
    // A buffer of its own each time, so that a view that outlives its input is seen by AddressSanitizer.
    pending_ = std::string(pending_).append(piece);
    std::size_t done = 0;
    for (;;) {
      const auto parsed = parser_.next(std::string_view(pending_).substr(done), limits_, *request_);
      done += parsed.consumed;
      if (parsed.outcome != RespParser::Outcome::request) {
        failed_ = parsed.outcome == RespParser::Outcome::failed;
        break;
      }
      for (const auto word : request_->request()) text_.append("[").append(word).append("]");
      text_ += '\n';
    }
    pending_.erase(0, done);
    if (failed_) text_.append(parser_.error().text()).append("\n");
  }

  const std::string& text() const noexcept { return text_; }
  std::size_t pending() const noexcept { return failed_ ? 0 : pending_.size(); }

 private:
  RequestLimits limits_;
  RespParser parser_;
  std::unique_ptr<RequestBuffer> request_ = std::make_unique<RequestBuffer>();
  std::string pending_;
  std::string text_;
  bool failed_ = false;
};

}  // namespace holdfast
