#include "tests/simulation/simulated_disk.h"

#include "protocol/check.h"
#include "tests/simulation/simulated_file.h"

namespace holdfast::simulation {
namespace {

std::string_view reason(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::no_space:
      return "No space left on device";
    case ErrorCode::not_found:
      return "No such file or directory";
    case ErrorCode::locked:
      return "held by another process";
    default:
      return "Input/output error";
  }
}

}  // namespace

Result<std::unique_ptr<File>> SimulatedDisk::open(const std::string& raw_path, OpenMode mode) {
  const std::string path = clean(raw_path);
  const bool fresh = mode == OpenMode::create;
  const auto fault = begin(fresh ? IoCall::create : IoCall::open, path);
  if (!fault) return fault.error();
  auto inode = names_.find(path);
  if (fresh) {
    if (inode) return Error::format(ErrorCode::io_failed, "create {}: File exists", path);
    const auto made = make_file(path);
    if (!made) return made.error();
    inode = *made;
  }
  if (!inode) return failure(IoCall::open, path, ErrorCode::not_found);
  end(*fault);
  return std::make_unique<SimulatedFile>(*this, *inode, mode);
}

Result<std::vector<std::string>> SimulatedDisk::list(const std::string& raw_directory) {
  const std::string directory = clean(raw_directory);
  const auto fault = begin(IoCall::list, directory);
  if (!fault) return fault.error();
  if (!directories_.contains(directory)) return failure(IoCall::list, directory, ErrorCode::not_found);
  end(*fault);
  auto names = names_.list(directory);
  for (const std::string& other : directories_) {
    if (other != directory && parent_directory(other) == directory) names.push_back(other.substr(other.rfind('/') + 1));
  }
  std::sort(names.begin(), names.end());
  return names;
}

Result<bool> SimulatedDisk::exists(const std::string& raw_path) {
  const std::string path = clean(raw_path);
  const auto fault = begin(IoCall::exists, path);
  if (!fault) return fault.error();
  end(*fault);
  return names_.find(path).has_value() || directories_.contains(path);
}

Result<void> SimulatedDisk::make_directory(const std::string& raw_directory) {
  const std::string directory = clean(raw_directory);
  const auto fault = begin(IoCall::make_directory, directory);
  if (!fault) return fault.error();
  end(*fault);  // durable when it returns, so a crash may as well come before
  for (std::string path = directory; path != "." && path != "/"; path = parent_directory(path))
    directories_.insert(path);
  return {};
}

Result<void> SimulatedDisk::rename(const std::string& raw_from, const std::string& raw_to) {
  const std::string from = clean(raw_from);
  const std::string to = clean(raw_to);
  const auto fault = begin(IoCall::rename, to);
  if (!fault) return fault.error();
  const auto inode = names_.find(from);
  if (!inode || !directories_.contains(parent_directory(to)))
    return failure(IoCall::rename, from, ErrorCode::not_found);
  names_.rename(from, to);
  Entry& entry = files_.at(*inode);
  entry.path = to;
  entry.site = plan_.site(to);
  end(*fault);
  return {};
}

Result<void> SimulatedDisk::remove(const std::string& raw_path) {
  const std::string path = clean(raw_path);
  const auto fault = begin(IoCall::remove, path);
  if (!fault) return fault.error();
  if (!names_.find(path)) return failure(IoCall::remove, path, ErrorCode::not_found);
  names_.remove(path);
  end(*fault);
  return {};
}

Result<void> SimulatedDisk::sync_directory(const std::string& raw_directory) {
  const std::string directory = clean(raw_directory);
  const auto fault = begin(IoCall::sync_directory, directory);
  if (!fault) return fault.error();
  if (!directories_.contains(directory)) return failure(IoCall::sync_directory, directory, ErrorCode::not_found);
  end(*fault);
  names_.sync(directory);
  forget_unreachable();
  return {};
}

Result<FileIdentity> SimulatedDisk::identity(const std::string& raw_path) {
  const std::string path = clean(raw_path);
  const auto fault = begin(IoCall::identity, path);
  if (!fault) return fault.error();
  const auto inode = names_.find(path);
  if (!inode) return failure(IoCall::identity, path, ErrorCode::not_found);
  end(*fault);
  return FileIdentity{1, *inode, names_.links(*inode)};
}

Result<std::uint64_t> SimulatedDisk::free_bytes(const std::string& directory) {
  const auto fault = begin(IoCall::free_bytes, clean(directory));
  if (!fault) return fault.error();
  end(*fault);
  return capacity_bytes_ - std::min(capacity_bytes_, used_bytes());
}

Result<std::unique_ptr<FileLock>> SimulatedDisk::lock(const std::string& raw_path) {
  const std::string path = clean(raw_path);
  const auto fault = begin(IoCall::lock, path);
  if (!fault) return fault.error();
  if (!names_.find(path)) HOLDFAST_TRY(make_file(path));
  end(*fault);
  if (!locks_.insert(path).second) return failure(IoCall::lock, path, ErrorCode::locked);
  return std::make_unique<SimulatedLock>(*this, path);
}

void SimulatedDisk::crash(CrashChooser& chooser) {
  names_.crash(chooser);
  for (auto& [inode, entry] : files_) entry.bytes.crash(chooser);
  begin_process();
}

void SimulatedDisk::crash(std::uint64_t seed, bool garble) {
  RandomCrash chooser(seed, garble);
  crash(chooser);
}

void SimulatedDisk::kill_process() { begin_process(); }

void SimulatedDisk::set_latency(VirtualClock& clock, IoCall call, std::chrono::nanoseconds latency) noexcept {
  clock_ = &clock;
  latency_[static_cast<std::size_t>(call)] = latency;
}

std::size_t SimulatedDisk::pending_sectors() const noexcept {
  std::size_t sum = 0;
  for (const auto& [inode, entry] : files_) sum += entry.bytes.pending_sectors();
  return sum;
}

std::uint64_t SimulatedDisk::used_bytes() const noexcept {
  std::uint64_t sum = 0;
  for (const auto& [inode, entry] : files_) {
    if (entry.open_count > 0 || names_.links(inode) > 0) sum += entry.bytes.allocated();
  }
  return sum;
}

std::vector<std::byte> SimulatedDisk::contents(const std::string& path) const {
  const auto inode = names_.find(clean(path));
  CHECK(inode.has_value());
  const SimulatedInode& bytes = files_.at(*inode).bytes;
  std::vector<std::byte> result(bytes.size());
  bytes.read(0, result);
  return result;
}

SimulatedInode& SimulatedDisk::file(const std::string& path) {
  const auto inode = names_.find(clean(path));
  CHECK(inode.has_value());
  return files_.at(*inode).bytes;
}

std::string SimulatedDisk::clean(const std::string& path) {
  std::string_view rest = path;
  while (rest.size() > 1 && rest.back() == '/') rest.remove_suffix(1);
  while (rest.starts_with("./") && rest.size() > 2) rest.remove_prefix(2);
  return std::string(rest);
}

Error SimulatedDisk::failure(IoCall call, const std::string& path, ErrorCode code) {
  return Error::format(code, "{} {}: {}", io_call_name(call), path, reason(code));
}

Result<const Fault*> SimulatedDisk::note(IoCall call, SiteIndex site, const std::string& path) {
  if (power_off_) return Error::format(ErrorCode::io_failed, "{} {}: the power is off", io_call_name(call), path);
  const Fault* fault = plan_.on_call(call, site, path);
  if (clock_ != nullptr) {
    const bool slow = fault != nullptr && fault->kind == FaultKind::delay;
    clock_->advance(latency_[static_cast<std::size_t>(call)] + (slow ? fault->delay : std::chrono::nanoseconds(0)));
  }
  return fault;
}

Result<const Fault*> SimulatedDisk::begin(IoCall call, SiteIndex site, const std::string& path) {
  auto fault = note(call, site, path);
  if (fault && *fault != nullptr && (*fault)->kind == FaultKind::fail) return failure(call, path, (*fault)->error);
  return fault;
}

void SimulatedDisk::end(const Fault* fault) {
  if (fault == nullptr || fault->kind != FaultKind::crash) return;
  power_off_ = true;
  throw SimulatedCrash{plan_.calls()};
}

Result<InodeNumber> SimulatedDisk::make_file(const std::string& path) {
  if (!directories_.contains(parent_directory(path))) return failure(IoCall::create, path, ErrorCode::not_found);
  const InodeNumber inode = next_inode_++;
  Entry& entry = files_[inode];
  entry.path = path;
  entry.site = plan_.site(path);
  names_.create(path, inode);
  return inode;
}

Result<void> SimulatedDisk::write(Entry& entry, const Fault* fault, std::uint64_t offset,
                                  std::span<const std::byte> bytes, std::size_t unit) {
  if (fault != nullptr && fault->kind == FaultKind::fail) {
    entry.bytes.write(offset, bytes.first(dice_.below(bytes.size() + 1) / unit * unit));
    return failure(IoCall::write, entry.path, fault->error);
  }
  const std::uint64_t end = offset + bytes.size();
  if (end > entry.bytes.allocated() && used_bytes() - entry.bytes.allocated() + end > capacity_bytes_) {
    return failure(IoCall::write, entry.path, ErrorCode::no_space);
  }
  const PageImage before = fault != nullptr ? entry.bytes.pristine() : PageImage();
  entry.bytes.write(offset, bytes);
  if (fault == nullptr || fault->kind == FaultKind::crash || fault->kind == FaultKind::delay) return {};
  entry.bytes.lose_write(before, offset, bytes.size());
  if (fault->kind == FaultKind::misdirect_write) {
    entry.bytes.overwrite_behind(offset + static_cast<std::uint64_t>(fault->misdirect_bytes), bytes);
  }
  return {};
}

void SimulatedDisk::forget_unreachable() {
  std::erase_if(files_,
                [this](const auto& file) { return file.second.open_count == 0 && !names_.reachable(file.first); });
}

void SimulatedDisk::begin_process() {
  ++process_;
  power_off_ = false;
  locks_.clear();
  for (auto& [inode, entry] : files_) entry.open_count = 0;
  forget_unreachable();
}

}  // namespace holdfast::simulation
