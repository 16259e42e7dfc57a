#include "storage/machine_clock.h"

#include "protocol/check.h"
#include "protocol/names.h"

#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>
#include <cerrno>
#include <ctime>

namespace holdfast {
namespace {

std::chrono::nanoseconds read_clock(clockid_t id) noexcept {
  timespec time{};
  CHECK(::clock_gettime(id, &time) == 0);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

/// False when the kernel does not tell.
bool read_boot_id(BootId& id) {
  const int fd = ::open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  std::array<char, ReservationId::kTextBytes> text{};
  const auto got = ::read(fd, text.data(), text.size());
  ::close(fd);
  if (got != static_cast<ssize_t>(text.size())) return false;
  const auto uuid = ReservationId::parse({text.data(), text.size()});
  if (!uuid) return false;
  id = uuid->bytes();
  return true;
}

}  // namespace

MachineClock::MachineClock() {
  if (!read_boot_id(boot_id_)) MachineRandom().fill(boot_id_);
}

std::chrono::nanoseconds MachineClock::boot() { return read_clock(CLOCK_BOOTTIME); }

ClockReading MachineClock::read() { return {read_clock(CLOCK_BOOTTIME), read_clock(CLOCK_REALTIME)}; }

void MachineRandom::fill(std::span<std::uint8_t> bytes) {
  while (!bytes.empty()) {
    const auto got = ::getrandom(bytes.data(), bytes.size(), 0);
    CHECK(got > 0 || errno == EINTR);
    if (got > 0) bytes = bytes.subspan(static_cast<std::size_t>(got));
  }
}

}  // namespace holdfast
