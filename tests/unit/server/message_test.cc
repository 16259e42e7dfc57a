#include "server/message.h"

#include "server/mailbox.h"

#include "tests/doctest.h"

#include <string>
#include <vector>

using namespace holdfast;

TEST_CASE("command block: words are copied, and outlive the bytes they came from") {
  CommandBlock block;
  {
    const std::string item = "item";
    const std::vector<std::string_view> words = {item, "", "user"};
    REQUIRE(block.add({nullptr, {{1, 2}, ReplySlot(3)}, RespVersion::resp3, words}));
  }
  REQUIRE(block.commands().size() == 1);
  CHECK(block.commands()[0].words[0] == "item");
  CHECK(block.commands()[0].words[1].empty());
  CHECK(block.commands()[0].words[2] == "user");
  CHECK(block.commands()[0].address.slot == ReplySlot(3));
}

TEST_CASE("command block: 64 commands or 4 KiB, and a larger command alone") {
  const std::vector<std::string_view> small = {"a"};
  CommandBlock block;
  for (std::uint32_t i = 0; i < kBlockCommandsMax; ++i) CHECK(block.add({nullptr, {}, {}, small}));
  CHECK_FALSE(block.add({nullptr, {}, {}, small}));
  const std::string large(kBlockBytesMax + 1, 'x');
  const std::vector<std::string_view> words = {large};
  block.clear();
  REQUIRE(block.add({nullptr, {}, {}, small}));
  CHECK_FALSE(block.add({nullptr, {}, {}, words}));
  block.clear();
  REQUIRE(block.add({nullptr, {}, {}, words}));
  CHECK(block.commands()[0].words[0] == large);
  CHECK_FALSE(block.add({nullptr, {}, {}, small}));
}

TEST_CASE("mailbox: a block goes back to its sender when the receiver is done with it") {
  Mailbox<ReplyBlock> mailbox(2);
  CHECK(mailbox.empty());
  mailbox.send(std::make_unique<ReplyBlock>());
  CHECK_FALSE(mailbox.empty());
  CHECK(mailbox.take_back() == nullptr);
  auto block = mailbox.receive();
  const ReplyBlock* const made = block.get();
  mailbox.give_back(std::move(block));
  CHECK(mailbox.take_back().get() == made);
  CHECK(mailbox.take_back() == nullptr);
}

TEST_CASE("mailbox: a receiver that makes room sees that the sender waits for it, once") {
  Mailbox<ReplyBlock> mailbox(1);
  mailbox.send(std::make_unique<ReplyBlock>());
  CHECK_FALSE(mailbox.sender_waits());
  mailbox.send(std::make_unique<ReplyBlock>());
  CHECK_FALSE(mailbox.outbox_empty());
  CHECK(mailbox.receive() != nullptr);
  CHECK(mailbox.sender_waits());
  CHECK_FALSE(mailbox.sender_waits());
  mailbox.flush();
  CHECK(mailbox.outbox_empty());
  CHECK(mailbox.receive() != nullptr);
}

TEST_CASE("mailbox: more blocks than the ring holds wait in the outbox, in order") {
  Mailbox<ReplyBlock> mailbox(kMailboxBlocksMax);
  const std::size_t count = kMailboxBlocksMax * 2 + 3;
  for (std::size_t i = 0; i < count; ++i) {
    auto block = std::make_unique<ReplyBlock>();
    block->add({{0, 0}, ReplySlot(static_cast<std::uint32_t>(i))}, "x");
    mailbox.send(std::move(block));
  }
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto block = mailbox.receive();
    REQUIRE(block != nullptr);
    CHECK(block->reply(0).address.slot == ReplySlot(i));
    mailbox.flush();
  }
  CHECK(mailbox.receive() == nullptr);
}
