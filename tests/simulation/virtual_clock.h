// A clock that moves only when told: time passes, the machine reboots, somebody steps the wall clock.
#pragma once

#include "storage/clock.h"

namespace holdfast::simulation {

class VirtualClock final : public Clock {
 public:
  VirtualClock() noexcept { boot_id_.fill(1); }

  ClockReading read() override { return reading_; }
  BootId boot_id() override { return boot_id_; }

  /// Time passes for both clocks.
  void advance(std::chrono::nanoseconds by) noexcept {
    reading_.boot += by;
    reading_.wall += by;
  }
  /// Somebody sets CLOCK_REALTIME; a negative step goes back.
  void step_wall(std::chrono::nanoseconds by) noexcept { reading_.wall += by; }
  /// The boot time jumps alone, as in a time namespace.
  void step_boot(std::chrono::nanoseconds by) noexcept { reading_.boot += by; }
  /// The machine was off for `off`: another boot id, and a boot time that starts again.
  void reboot(std::chrono::nanoseconds off) noexcept {
    reading_.wall += off;
    reading_.boot = std::chrono::seconds(1);
    for (auto& byte : boot_id_) {
      if (++byte != 0) break;
    }
  }
  void set(const ClockReading& reading) noexcept { reading_ = reading; }
  void set_boot_id(const BootId& id) noexcept { boot_id_ = id; }

 private:
  ClockReading reading_{std::chrono::hours(1), std::chrono::seconds(1'800'000'000)};  // wall: January 2027
  BootId boot_id_{};
};

}  // namespace holdfast::simulation
