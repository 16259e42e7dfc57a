// The machine's clocks and randomness. Any thread.
#pragma once

#include "storage/clock.h"

namespace holdfast {

class MachineClock final : public Clock {
 public:
  MachineClock();
  ClockReading read() override;
  std::chrono::nanoseconds boot() override;
  /// The kernel's boot_id. Where /proc does not show it, random bytes of this process: a restart then counts
  /// the wall clock's difference, as after a reboot.
  BootId boot_id() override { return boot_id_; }

 private:
  BootId boot_id_{};
};

class MachineRandom final : public Random {
 public:
  /// From the kernel's generator; waits until that is seeded.
  void fill(std::span<std::uint8_t> bytes) override;
};

}  // namespace holdfast
