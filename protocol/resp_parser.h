// Requests out of bytes, as Redis 7 reads them: arrays of bulk strings, or a line with quotes. A state machine without
// I/O: any bytes in any pieces give the same requests and the same error. Nothing is allocated here, and nothing ever
// from a length that a client declares; what a request may be is bounded by RequestLimits.
//
// Differences from Redis, all of them limits: a request has at most 1,024 words (10 before AUTH), a word 64 KiB, a
// request 256 KiB, a line 4 KiB. One thread at a time.
#pragma once

#include "protocol/error.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace holdfast {

/// What one request may be.
struct RequestLimits {
  std::uint32_t words_max;
  std::uint32_t word_bytes_max;
  std::uint32_t request_bytes_max;  // all words together
  bool authenticated;               // decides between Redis's texts
};

inline constexpr std::size_t kRequestWordsMax = 1024;
inline constexpr std::size_t kLineBytesMax = 4096;
inline constexpr RequestLimits kRequestLimits{kRequestWordsMax, 64 << 10, 256 << 10, true};
inline constexpr RequestLimits kRequestLimitsBeforeAuth{10, 16 << 10, 16 << 10, false};

/// Where the words of the request that was parsed last stand; one for all connections of a thread. The views point
/// into the input, or, for a line, into `line_bytes`.
struct RequestBuffer {
  std::array<std::string_view, kRequestWordsMax> words;
  std::array<char, kLineBytesMax> line_bytes;
  std::size_t count = 0;

  std::span<const std::string_view> request() const noexcept { return {words.data(), count}; }
};

class RespParser {
 public:
  enum class Outcome : std::uint8_t {
    incomplete,  // the request goes on behind the input
    request,     // the buffer holds one
    failed,      // error() says why; the connection is to be closed behind it
  };
  struct Parsed {
    Outcome outcome;
    std::size_t consumed;  // bytes at the front of the input that are done with
  };

  /// Parses on. `input` begins with the first byte that was not consumed yet and holds everything that has come since.
  /// Requests without words are skipped. After `failed` the parser must not be used again.
  Parsed next(std::string_view input, const RequestLimits& limits, RequestBuffer& request);

  /// REQUIRES: the last outcome was `failed`.
  Error error() const;

 private:
  enum class Problem : std::uint8_t {
    none,
    words_length,
    words_length_line,
    word_mark,
    word_length,
    word_length_line,
    words_many,
    request_long,
    line_long,
    quotes,
  };

  bool begin_array(std::string_view input);
  bool take_words(std::string_view input, const RequestLimits& limits, RequestBuffer& request);
  bool take_header(std::string_view input, const RequestLimits& limits);
  void collect_words(std::string_view input, RequestBuffer& request) const;
  Outcome take_line(std::string_view input, const RequestLimits& limits, RequestBuffer& request, std::size_t& length);
  bool fail(Problem problem) noexcept;
  void reset() noexcept;

  static constexpr std::uint32_t kNoWord = UINT32_MAX;

  // All relative to the first byte of the unfinished request.
  std::uint32_t at_ = 0;           // parsed up to here
  std::uint32_t words_begin_ = 0;  // behind the array's header
  std::uint32_t words_left_ = 0;   // of an array; 0: its header is not read yet
  std::uint32_t words_done_ = 0;
  std::uint32_t word_bytes_ = kNoWord;  // length of the word at `at_`; none: its header is not read yet
  std::uint32_t request_bytes_ = 0;     // lengths of all words so far
  Problem problem_ = Problem::none;
  bool authenticated_ = true;
  char found_ = 0;
};

}  // namespace holdfast
