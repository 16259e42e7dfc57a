#include "tests/shim/pending.h"

#include <sys/syscall.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cstring>

namespace holdfast::shim {
namespace {

enum class Fate { in_flight, written, failed, durable, covered };

struct Write {
  const JournalRecord* record;
  Fate fate = Fate::in_flight;
  std::uint64_t done_at = 0;
};

using Writes = std::map<std::uint64_t, std::vector<Write>>;  // by inode, oldest first

void on_done(std::vector<Write>& writes, const JournalRecord& done) {
  const auto found = std::find_if(writes.rbegin(), writes.rend(),
                                  [&](const Write& write) { return write.record->at == done.header.position; });
  if (found == writes.rend()) return;
  found->done_at = done.at;
  found->fate = (done.header.flags & kDurable) != 0  ? Fate::durable
                : (done.header.flags & kFailed) != 0 ? Fate::failed
                                                     : Fate::written;
}

/// A flush that began at header.position covers what was complete by then, also what a dead process left.
void on_sync(std::vector<Write>& writes, const JournalRecord& sync, Fate fate) {
  for (Write& write : writes) {
    const bool complete = (write.fate == Fate::written && write.done_at < sync.header.position) ||
                          (write.fate == Fate::in_flight && write.record->header.pid != sync.header.pid);
    if (complete && write.record->at < sync.header.position) write.fate = fate;
  }
  std::erase_if(writes, [](const Write& write) { return write.fate == Fate::covered; });
}

void drop_reverted(std::vector<Write>& writes) {
  std::erase_if(writes, [](const Write& write) { return write.fate == Fate::failed; });
}

PendingFile expand(const std::vector<Write>& writes) {
  PendingFile file;
  for (const Write& write : writes) {
    const std::uint64_t first = write.record->first_sector();
    const std::uint64_t end = first + write.record->sector_count();
    if (write.fate == Fate::durable) {
      file.sectors.erase(file.sectors.lower_bound(first), file.sectors.lower_bound(end));
      file.old_sizes.clear();
      continue;
    }
    for (std::uint64_t sector = first; sector < end; ++sector) {
      file.sectors[sector].push_back({write.record, write.fate == Fate::failed});
    }
    if (write.record->header.old_size != write.record->header.new_size) {
      file.old_sizes.push_back(write.record->header.old_size);
    }
  }
  return file;
}

void on_names_synced(std::vector<const JournalRecord*>& names, const JournalRecord& sync) {
  const std::string directory = sync.text(0);
  std::erase_if(names, [&](const JournalRecord* change) {
    const bool there = directory_of(change->text(0)) == directory ||
                       (change->header.kind == JournalKind::rename && directory_of(change->text(1)) == directory);
    return there && change->at < sync.header.position;
  });
}

}  // namespace

PendingState find_pending(const std::vector<JournalRecord>& records) {
  Writes writes;
  PendingState state;
  for (const JournalRecord& record : records) {
    auto& of_file = writes[record.header.inode];
    switch (record.header.kind) {
      case JournalKind::write:
        of_file.push_back({&record});
        break;
      case JournalKind::done:
        on_done(of_file, record);
        break;
      case JournalKind::sync:
        on_sync(of_file, record, Fate::covered);
        break;
      case JournalKind::failed_sync:
        on_sync(of_file, record, Fate::failed);
        break;
      case JournalKind::reverted:
        drop_reverted(of_file);
        break;
      case JournalKind::create:
        if ((record.header.flags & kNewFile) != 0) of_file.clear();
        state.names.push_back(&record);
        break;
      case JournalKind::rename:
      case JournalKind::remove:
        state.names.push_back(&record);
        break;
      case JournalKind::cancel:
        std::erase_if(state.names, [&](const JournalRecord* name) { return name->at == record.header.position; });
        break;
      case JournalKind::sync_directory:
        on_names_synced(state.names, record);
        break;
    }
  }
  for (const auto& [inode, of_file] : writes) {
    PendingFile file = expand(of_file);
    if (!file.sectors.empty() || !file.old_sizes.empty()) state.files[inode] = std::move(file);
  }
  return state;
}

std::string content_of(const SectorVersion& version, std::uint64_t sector) {
  const auto old = version.before->old_sector(sector - version.before->first_sector());
  return old.empty() ? std::string(kSectorBytes, '\0') : std::string(old);
}

bool revert_failed(int fd, const PendingFile& file) {
  bool any = false;
  for (const auto& [sector, versions] : file.sectors) {
    auto first = versions.end();
    while (first != versions.begin() && (first - 1)->failed) --first;
    if (first == versions.end()) continue;
    const std::string old = content_of(*first, sector);
    const long wrote = ::syscall(SYS_pwrite64, fd, old.data(), old.size(), sector * kSectorBytes);
    if (wrote != static_cast<long>(old.size())) give_up("reverting a failed write", std::strerror(errno));
    any = true;
  }
  return any;
}

std::string directory_of(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace holdfast::shim
