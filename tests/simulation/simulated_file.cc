#include "tests/simulation/simulated_file.h"

#include "protocol/check.h"

namespace holdfast::simulation {

SimulatedFile::SimulatedFile(SimulatedDisk& disk, InodeNumber inode, OpenMode mode)
    : disk_(disk), inode_(inode), mode_(mode), process_(disk.process_) {
  ++disk_.files_.at(inode_).open_count;
}

SimulatedFile::~SimulatedFile() {
  if (process_ != disk_.process_) return;
  --disk_.files_.at(inode_).open_count;
  disk_.forget_unreachable();
}

SimulatedDisk::Entry& SimulatedFile::entry() const {
  CHECK(process_ == disk_.process_);  // a file of a process that ended
  return disk_.files_.at(inode_);
}

Result<const Fault*> SimulatedFile::note(IoCall call) const {
  const SimulatedDisk::Entry& file = entry();
  return disk_.note(call, file.site, file.path);
}

Result<const Fault*> SimulatedFile::begin(IoCall call) const {
  const SimulatedDisk::Entry& file = entry();
  return disk_.begin(call, file.site, file.path);
}

Result<std::size_t> SimulatedFile::read(std::uint64_t offset, std::span<std::byte> into) {
  const auto fault = begin(IoCall::read);
  if (!fault) return fault.error();
  const SimulatedInode& bytes = entry().bytes;
  const std::size_t got =
      mode_ == OpenMode::read_suspicious ? bytes.read_past_cache(offset, into) : bytes.read(offset, into);
  disk_.end(*fault);
  return got;
}

Result<void> SimulatedFile::write(std::uint64_t offset, std::span<const std::byte> bytes) {
  CHECK(mode_ == OpenMode::create || mode_ == OpenMode::write);
  const auto fault = note(IoCall::write);
  if (!fault) return fault.error();
  HOLDFAST_TRY(disk_.write(entry(), *fault, offset, bytes, 1));
  disk_.end(*fault);
  return {};
}

Result<void> SimulatedFile::write_durable(std::uint64_t offset, std::span<const std::byte> bytes) {
  CHECK(mode_ == OpenMode::for_durable_writes);
  CHECK(offset % kBlockBytes == 0 && bytes.size() % kBlockBytes == 0);
  CHECK(reinterpret_cast<std::uintptr_t>(bytes.data()) % kBlockBytes == 0);
  CHECK(offset + bytes.size() <= entry().bytes.pristine().size());
  const auto fault = note(IoCall::write_durable);
  if (!fault) return fault.error();
  if (auto written = disk_.write(entry(), *fault, offset, bytes, kSectorBytes); !written) {
    entry().bytes.fail_flush(disk_.flush_failure_, disk_.dice_);
    return written;
  }
  disk_.end(*fault);
  entry().bytes.make_durable(offset, bytes.size());
  return {};
}

Result<void> SimulatedFile::sync() {
  const auto fault = note(IoCall::sync);
  if (!fault) return fault.error();
  if (*fault != nullptr && (*fault)->kind == FaultKind::fail) {
    entry().bytes.fail_flush(disk_.flush_failure_, disk_.dice_);
    return SimulatedDisk::failure(IoCall::sync, entry().path, (*fault)->error);
  }
  disk_.end(*fault);
  entry().bytes.make_durable();
  return {};
}

Result<std::uint64_t> SimulatedFile::size() {
  const auto fault = begin(IoCall::size);
  if (!fault) return fault.error();
  disk_.end(*fault);
  return entry().bytes.size();
}

Result<FileIdentity> SimulatedFile::identity() {
  const auto fault = begin(IoCall::identity);
  if (!fault) return fault.error();
  disk_.end(*fault);
  return FileIdentity{1, inode_, disk_.names_.links(inode_)};
}

SimulatedLock::~SimulatedLock() {
  if (process_ == disk_.process_) disk_.locks_.erase(path_);
}

}  // namespace holdfast::simulation
