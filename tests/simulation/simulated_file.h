// Open files and locks of the simulated disk; only simulated_disk.cc makes them. One thread.
#pragma once

#include "tests/simulation/simulated_disk.h"

namespace holdfast::simulation {

class SimulatedFile final : public File {
 public:
  SimulatedFile(SimulatedDisk& disk, InodeNumber inode, OpenMode mode);
  ~SimulatedFile() override;
  SimulatedFile(const SimulatedFile&) = delete;
  SimulatedFile& operator=(const SimulatedFile&) = delete;

  Result<std::size_t> read(std::uint64_t offset, std::span<std::byte> into) override;
  Result<void> write(std::uint64_t offset, std::span<const std::byte> bytes) override;
  Result<void> write_durable(std::uint64_t offset, std::span<const std::byte> bytes) override;
  Result<void> sync() override;
  Result<std::uint64_t> size() override;
  Result<FileIdentity> identity() override;

 private:
  SimulatedDisk::Entry& entry() const;
  Result<const Fault*> note(IoCall call) const;
  Result<const Fault*> begin(IoCall call) const;

  SimulatedDisk& disk_;
  InodeNumber inode_;
  OpenMode mode_;
  std::uint64_t process_;
};

class SimulatedLock final : public FileLock {
 public:
  SimulatedLock(SimulatedDisk& disk, std::string path) : disk_(disk), path_(std::move(path)), process_(disk.process_) {}
  ~SimulatedLock() override;
  SimulatedLock(const SimulatedLock&) = delete;
  SimulatedLock& operator=(const SimulatedLock&) = delete;

 private:
  SimulatedDisk& disk_;
  std::string path_;
  std::uint64_t process_;
};

}  // namespace holdfast::simulation
