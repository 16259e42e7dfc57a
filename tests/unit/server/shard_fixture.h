// A shard with a log that the test plays: groups are committed when it says so, replies come out as text. One thread.
#pragma once

#include "server/shard.h"
#include "tests/unit/server/step_bench.h"

#include <deque>

namespace holdfast::testing {

class PlayedShard {
 public:
  static constexpr ThreadIndex kThread{0};

  explicit PlayedShard(bool views = true) : shard(settings(views), stats) { shard.begin(); }

  /// Sends a message of a connection.
  void send(const CommandEntry& entry, Words words, ConnectionKey connection = {1, 1}) {
    CommandBlock block;
    check_added(block.add({&entry, {connection, ReplySlot(next_slot_++)}, RespVersion::resp2, words}));
    shard.run(block, kThread, now);
  }
  void send(const std::vector<std::string>& words, ConnectionKey connection = {1, 1}) {
    const std::vector<std::string_view> views(words.begin(), words.end());
    send(*find_command(views).value(), views, connection);
  }
  void send(std::string_view line, ConnectionKey connection = {1, 1}) { send(split_words(line), connection); }
  /// The connection closes.
  void forget(ConnectionKey connection) {
    CommandBlock block;
    check_added(block.add({nullptr, {connection, {}}, {}, {}}));
    shard.run(block, kThread, now);
  }
  /// What left the gate since.
  std::string replies() {
    std::string bytes;
    while (auto block = shard.take_replies(kThread)) {
      for (std::size_t i = 0; i < block->size(); ++i) bytes += block->reply(i).bytes;
      shard.give_back(std::move(block));
    }
    return bytes;
  }
  /// Hands a group to the log; false when there is none.
  bool hand_over() {
    Group* group = shard.hand_over();
    if (group != nullptr) at_log_.push_back(group);
    return group != nullptr;
  }
  /// The oldest group at the log is durable.
  void commit() {
    Group* group = at_log_.front();
    at_log_.pop_front();
    group->place(Lsn(next_lsn_));
    next_lsn_ += group->record_count();
    shard.committed(*group, now);
  }
  void make_durable() {
    while (hand_over()) commit();
  }
  std::string ask(std::string_view line, ConnectionKey connection = {1, 1}) {
    send(line, connection);
    make_durable();
    return replies();
  }
  /// The events of the notices that are ready: "sold_out a 1 4 OPEN 0;".
  std::string notices();

  ThreadStats stats;
  Shard shard;
  Now now{hold_time(1'000'000), wall_time(1'800'000'000'000), {}};

 private:
  static void check_added(bool added) {
    if (!added) throw std::runtime_error("a block does not take a command");
  }
  static Shard::Settings settings(bool views) {
    Shard::Settings settings;
    settings.inventory.views = views;
    settings.group_bytes = 1_MiB;
    return settings;
  }
  std::uint32_t next_slot_ = 0;
  std::uint64_t next_lsn_ = 1;
  std::deque<Group*> at_log_;
};

inline std::string PlayedShard::notices() {
  std::string text;
  for (const ItemNotice& notice : shard.take_notices()) text += notice_json(notice) + "\n";
  return text;
}

}  // namespace holdfast::testing
