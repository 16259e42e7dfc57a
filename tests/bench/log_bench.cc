// What the log costs on this machine: a flush beside the device's own, bytes a RESERVE, and the time of a recovery.
//   log_bench DIRECTORY [RESERVATIONS]        the directory is made, and removed afterwards
#include "storage/aligned_buffer.h"
#include "storage/log.h"
#include "storage/machine_clock.h"
#include "storage/posix_file_system.h"
#include "storage/segment_preparer.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace {

using namespace holdfast;
using SteadyClock = std::chrono::steady_clock;

constexpr int kFlushes = 3000;

template <class T>
T must(Result<T> result) {
  if (!result) {
    fmt::print(stderr, "{}\n", result.error().text());
    std::exit(1);
  }
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

double microseconds_since(SteadyClock::time_point began) {
  return std::chrono::duration<double, std::micro>(SteadyClock::now() - began).count();
}

void print_percentiles(std::string_view what, std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  const auto at = [&](double share) {
    return samples[static_cast<std::size_t>(share * static_cast<double>(samples.size() - 1))];
  };
  fmt::print("{:<28} p50 {:.0f} us, p99 {:.0f} us, p99.9 {:.0f} us\n", what, at(0.5), at(0.99), at(0.999));
}

/// One RESERVE of a sale: a number as user, one unit, ten minutes.
void add_reserve(Group& group, std::uint64_t number, std::uint64_t total) {
  const RecordStamp stamp{Lsn(), hold_time(static_cast<std::int64_t>(number / 1000)),
                          wall_time(1'800'000'000'000 + static_cast<std::int64_t>(number / 1000)), ItemNumber(7),
                          Sequence(number + 3)};
  ReservationRecord record;
  record.event = ReservationEvent::reserve;
  record.exclusive = true;
  std::array<std::uint8_t, ReservationId::kBytes> id{};
  const std::uint64_t mixed = number * 0x9e3779b97f4a7c15u;
  std::memcpy(id.data(), &mixed, sizeof mixed);
  std::memcpy(id.data() + 8, &number, sizeof number);
  record.id = ReservationId(id);
  record.user = UserId::from_number(1'000'000'000 + mixed % 1'000'000'000);
  record.quantity = Quantity(1);
  record.deadline = stamp.hold + std::chrono::minutes(10);
  record.after = {static_cast<std::int64_t>(total - number), static_cast<std::int64_t>(number), 0, 0};
  group.on_reservation(stamp, record);
}

class RecordCounter final : public RecordVisitor {
 public:
  Result<void> on_item(const RecordStamp&, const ItemRecord&) override { return {}; }
  Result<void> on_reservation(const RecordStamp&, const ReservationRecord& record) override {
    units += record.quantity.value();
    return {};
  }
  Result<void> on_forget(const RecordStamp&, const ForgetRecord&) override { return {}; }
  Result<void> on_default_returns(const RecordStamp&, const DefaultReturnsRecord&) override { return {}; }
  std::int64_t units = 0;
};

std::unique_ptr<LogRecovery> recover(FileSystem& files, Clock& clock, const std::string& directory,
                                     RecordCounter& counter) {
  MachineRandom random;
  LogSettings settings;
  settings.directory = directory;
  auto recovery = must(LogRecovery::open(files, clock, random, settings));
  SnapshotAcceptor snapshot;
  (void)must(recovery->restore(snapshot));
  (void)must(recovery->replay(counter));
  return recovery;
}

void write_group(Log& log, Group& group) {
  Group* const one = &group;
  group.seal({1, 1});
  while (!must(log.make_room({&one, 1}))) must(log.tick());
  must(log.commit({&one, 1}, {1, 1}));
}

/// The device alone: one block after the other by O_DIRECT|O_DSYNC into a zero-filled file.
void probe_device(FileSystem& files, const std::string& directory) {
  const SegmentRequest request{directory, directory + "/probe", (kFlushes + 1) * kBlockBytes};
  must(prepare_segment(files, request));
  const auto file = must(files.open(request.path, OpenMode::for_durable_writes));
  AlignedBuffer buffer;
  const auto block = buffer.reserve(kBlockBytes);
  std::fill(block.begin(), block.end(), std::byte{1});
  std::vector<double> samples;
  for (std::uint64_t index = 0; index < kFlushes; ++index) {
    const auto began = SteadyClock::now();
    must(file->write_durable(index * kBlockBytes, block));
    samples.push_back(microseconds_since(began));
  }
  must(files.remove(request.path));
  print_percentiles("device, one block", std::move(samples));
}

void time_flushes(Log& log) {
  Group group(ShardIndex(0), kGroupBytesTarget);
  std::vector<double> samples;
  for (std::uint64_t index = 0; index < kFlushes; ++index) {
    group.open(GroupOrdinal(index + 1));
    for (std::uint64_t record = 0; record < 50; ++record) add_reserve(group, index * 50 + record, kFlushes * 50);
    const auto began = SteadyClock::now();
    write_group(log, group);
    samples.push_back(microseconds_since(began));
    must(log.tick());
  }
  print_percentiles("commit, 50 RESERVE", std::move(samples));
}

void fill(Log& log, std::uint64_t reservations) {
  Group group(ShardIndex(0), kGroupBytesTarget);
  std::uint64_t bytes = 0;
  std::uint64_t ordinal = 0;
  const auto began = SteadyClock::now();
  for (std::uint64_t number = 0; number < reservations;) {
    group.open(GroupOrdinal(++ordinal));
    while (number < reservations && !group.wants_seal()) add_reserve(group, number++, reservations);
    bytes += group.bytes().size();
    write_group(log, group);
    must(log.tick());
  }
  fmt::print("{} RESERVE in full groups: {:.1f} bytes each, encoded and written in {:.2f} s\n", reservations,
             static_cast<double>(bytes) / static_cast<double>(reservations), microseconds_since(began) / 1e6);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "usage: log_bench DIRECTORY [RESERVATIONS]\n");
    return 2;
  }
  const std::string directory = argv[1];
  const std::uint64_t reservations = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 5'000'000;
  std::filesystem::remove_all(directory);
  PosixFileSystem files;
  MachineClock clock;
  RecordCounter before;
  {
    auto log = must(Log::start(recover(files, clock, directory, before)));
    probe_device(files, directory);
    time_flushes(*log);
    probe_device(files, directory);
    fill(*log, reservations);
    must(log->close());
  }
  RecordCounter counter;
  const auto began = SteadyClock::now();
  const auto recovery = recover(files, clock, directory, counter);
  fmt::print("recovery of {} records into a counter: {:.2f} s\n", counter.units, microseconds_since(began) / 1e6);
  std::filesystem::remove_all(directory);
  return counter.units == static_cast<std::int64_t>(reservations + kFlushes * 50) ? 0 : 1;
}
