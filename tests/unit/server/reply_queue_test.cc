#include "server/reply_queue.h"
#include "server/limits.h"

#include "tests/doctest.h"

using namespace holdfast;

namespace {

void reply(ReplyQueue& queue, std::string_view text) {
  queue.begin() += text;
  queue.end(false);
}

}  // namespace

TEST_CASE("reply_queue: who takes his replies slowly and never all of them holds little") {
  ReplyQueue queue;
  const std::string text(1000, 'x');
  std::size_t most = 0;
  for (int i = 0; i < 100'000; ++i) {
    reply(queue, text);
    if (queue.bytes() > kOutputBytesMax / 2) queue.sent(text.size());
    most = std::max(most, queue.memory());
  }
  CHECK(queue.bytes() > kOutputBytesMax / 2 - text.size());
  CHECK(most < 2 * kOutputBytesMax);
}

TEST_CASE("reply_queue: who takes nothing holds what may wait, not twice that") {
  ReplyQueue queue;
  const std::string text(60'000, 'x');
  while (queue.bytes() < kOutputBytesMax) reply(queue, text);
  CHECK(queue.memory() < kOutputBytesMax * 7 / 4);
  queue.sent(queue.ready().size());
  CHECK(queue.memory() <= kKeptBufferBytesMax);
}

TEST_CASE("reply_queue: what is taken in pieces is what was written, in the order of the requests") {
  ReplyQueue queue;
  std::string expected, taken;
  const ReplySlot slot = queue.defer(false);
  for (int i = 0; i < 1000; ++i) {
    const std::string text = std::to_string(i) + std::string(static_cast<std::size_t>(i), '.');
    reply(queue, text);
    expected += text;
  }
  CHECK(queue.ready().empty());
  queue.fill(slot, "first");
  expected.insert(0, "first");
  for (std::size_t piece = 1; !queue.ready().empty(); piece = piece * 3 % 70'001 + 1) {
    const std::string_view part = queue.ready().substr(0, piece);
    taken += part;
    queue.sent(part.size());
  }
  CHECK(taken == expected);
}
