#include "storage/log_thread.h"
#include "storage/machine_clock.h"
#include "storage/posix_file_system.h"
#include "tests/unit/storage/log_fixture.h"

#include "tests/doctest.h"

#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <thread>

namespace holdfast::test {
namespace {

/// A directory of the real file system, gone afterwards.
struct Directory {
  std::string path = (std::filesystem::current_path() / "log_thread_test").string();
  Directory() { std::filesystem::remove_all(path); }
  ~Directory() { std::filesystem::remove_all(path); }
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;
};

LogSettings settings_for(const Directory& directory) {
  LogSettings settings;
  settings.directory = directory.path;
  settings.segment_bytes = 256_KiB;
  return settings;
}

std::unique_ptr<LogRecovery> recover(FileSystem& files, Clock& clock, const LogSettings& settings, Lines& lines,
                                     RecoveredLog& found) {
  MachineRandom random;
  auto opened = LogRecovery::open(files, clock, random, settings);
  REQUIRE(said(opened) == "");
  SnapshotAcceptor snapshot;
  REQUIRE(said((*opened)->restore(snapshot)) == "");
  Lister lister;
  const auto replayed = (*opened)->replay(lister);
  REQUIRE(said(replayed) == "");
  found = *replayed;
  lines = lister.lines;
  return std::move(*opened);
}

/// What a shard does: fills groups, hands them over, takes them back.
class Shard {
 public:
  Shard(ShardIndex index, int groups) : index_(index), maker_(index.value() + 1U), left_(groups) {
    for (int pooled = 0; pooled < 4; ++pooled) free_.push_back(std::make_unique<Group>(index, 16_KiB));
  }

  void run(LogThread& log) {
    while (left_ > 0) {
      std::unique_lock lock(mutex_);
      REQUIRE(back_.wait_for(lock, std::chrono::seconds(60), [this] { return !free_.empty(); }));
      auto group = std::move(free_.back());
      free_.pop_back();
      lock.unlock();
      group->open(GroupOrdinal(++ordinal_));
      std::vector<std::pair<RecordPosition, std::string>> records;
      for (int record = 0; record < 5; ++record) {
        RecordPosition position = 0;
        auto line = maker_.add(*group, position);
        records.emplace_back(position, std::move(line));
      }
      group->seal({ordinal_, 0});
      lock.lock();
      submitted_[group->ordinal()] = std::move(records);
      Group& out = *group;
      away_.push_back(std::move(group));
      lock.unlock();
      log.submit(out);
      --left_;
    }
  }

  void on_committed(Group& group) {
    const std::lock_guard lock(mutex_);
    REQUIRE(group.ordinal() > last_);
    last_ = group.ordinal();
    for (auto& [position, line] : submitted_[group.ordinal()]) {
      lines_.emplace(Lsn(group.first_lsn().value() + position), std::move(line));
    }
    REQUIRE(away_.front().get() == &group);
    free_.push_back(std::move(away_.front()));
    away_.erase(away_.begin());
    back_.notify_one();
  }

  const Lines& lines() const { return lines_; }
  std::uint64_t ordinal() const { return ordinal_; }

 private:
  ShardIndex index_;
  RecordMaker maker_;
  int left_;
  std::uint64_t ordinal_ = 0;
  std::mutex mutex_;
  std::condition_variable back_;
  std::vector<std::unique_ptr<Group>> free_;
  std::vector<std::unique_ptr<Group>> away_;
  std::map<GroupOrdinal, std::vector<std::pair<RecordPosition, std::string>>> submitted_;
  Lines lines_;
  GroupOrdinal last_;
};

}  // namespace

TEST_CASE("log thread: groups of several shards come back in order, and a later start finds them all") {
  const Directory directory;
  PosixFileSystem files;
  MachineClock clock;
  Lines expected;
  RecoveredLog found;
  constexpr int kGroups = 400;
  {
    Shard first(ShardIndex(0), kGroups);
    Shard second(ShardIndex(1), kGroups);
    const std::array shards = {&first, &second};
    LogThread::Callbacks callbacks;
    callbacks.on_committed = [&](std::span<Group* const> groups) {
      for (Group* group : groups) shards[group->shard().value()]->on_committed(*group);
    };
    callbacks.on_failure = [](const Error& error) { FAIL(std::string(error.text())); };
    auto log = LogThread::start(files, clock, recover(files, clock, settings_for(directory), expected, found),
                                std::vector<StateHash>(2), callbacks);
    REQUIRE(said(log) == "");
    std::thread one([&] { first.run(**log); });
    std::thread two([&] { second.run(**log); });
    one.join();
    two.join();
    REQUIRE(said((*log)->stop()) == "");
    CHECK((*log)->status().durable_lsn == (*log)->status().written_lsn);
    CHECK((*log)->status().segment > 1);
    expected = first.lines();
    auto more = second.lines();
    expected.merge(more);
  }
  CHECK(expected.size() == 2 * 5 * kGroups);
  Lines lines;
  const auto again = recover(files, clock, settings_for(directory), lines, found);
  CHECK(lines == expected);
  CHECK(found.state == StateHash{2 * kGroups, 0});
}

TEST_CASE("log thread: a second process on the directory is refused") {
  const Directory directory;
  PosixFileSystem files;
  MachineClock clock;
  MachineRandom random;
  Lines lines;
  RecoveredLog found;
  const auto first = recover(files, clock, settings_for(directory), lines, found);
  const auto second = LogRecovery::open(files, clock, random, settings_for(directory));
  CHECK(second.error().code() == ErrorCode::locked);
}

TEST_CASE("log thread: the live file removed under the server ends it by the failure callback") {
  const Directory directory;
  PosixFileSystem files;
  MachineClock clock;
  Lines lines;
  RecoveredLog found;
  std::mutex mutex;
  std::condition_variable changed;
  std::string failure;
  LogThread::Callbacks callbacks;
  callbacks.on_committed = [](std::span<Group* const>) {};
  callbacks.on_failure = [&](const Error& error) {
    const std::lock_guard lock(mutex);
    failure = error.text();
    changed.notify_all();
  };
  auto log = LogThread::start(files, clock, recover(files, clock, settings_for(directory), lines, found),
                              std::vector<StateHash>(1), callbacks);
  REQUIRE(said(log) == "");
  std::filesystem::remove(directory.path + "/segment-0000000001");
  std::unique_lock lock(mutex);
  CHECK(changed.wait_for(lock, std::chrono::seconds(20), [&] { return !failure.empty(); }));
  CHECK(failure.find("no longer the file") != std::string::npos);
}

}  // namespace holdfast::test
