#include "server/snapshot_files.h"

#include "server/limits.h"
#include "storage/log_files.h"
#include "storage/log_identity.h"
#include "storage/snapshot_format.h"

#include <algorithm>

namespace holdfast {

using snapshot_format::kSecretOffset;

namespace {

constexpr std::uint64_t kSecretBytes = sizeof(LogSecret);

/// `bytes` stand at `offset` of the file.
void hide_secret(std::string& bytes, std::uint64_t offset) {
  const std::uint64_t begin = std::max<std::uint64_t>(offset, kSecretOffset);
  const std::uint64_t end = std::min(offset + bytes.size(), kSecretOffset + kSecretBytes);
  if (begin < end) bytes.replace(begin - offset, end - begin, end - begin, '\0');
}

}  // namespace

Result<Lsn> SnapshotFiles::choose(std::optional<Lsn> lsn) const {
  const auto found = look_at_directory(files_, directory_);
  if (!found) return found.error();
  const std::vector<Lsn>& there = found->snapshots;
  if (there.empty())
    return Error(ErrorCode::log_gone, "there is no snapshot yet: BGSAVE, or holdfastctl snapshot, makes one");
  if (!lsn) return there.back();
  if (std::binary_search(there.begin(), there.end(), *lsn)) return *lsn;
  return Error::format(ErrorCode::log_gone, "there is no snapshot {}: the newest is {}", lsn->value(),
                       there.back().value());
}

Result<SnapshotFiles::Part> SnapshotFiles::read(std::optional<Lsn> lsn, std::uint64_t offset, std::size_t bytes_max,
                                                Millis now) {
  const auto chosen = choose(lsn);
  if (!chosen) return chosen.error();
  auto file = files_.open(snapshot_path(directory_, *chosen), OpenMode::read);
  if (!file) return file.error();
  const auto total = (*file)->size();
  if (!total) return total.error();
  if (offset > *total) {
    return Error::format(ErrorCode::err, "offset {} is behind the end of snapshot {}, which has {} bytes", offset,
                         chosen->value(), *total);
  }
  Part part{*chosen, *total, std::string(std::min<std::uint64_t>(bytes_max, *total - offset), '\0')};
  const auto got = (*file)->read(offset, std::as_writable_bytes(std::span(part.bytes)));
  if (!got) return got.error();
  part.bytes.resize(*got);
  hide_secret(part.bytes, offset);
  held_until_[*chosen] = now + kSnapshotHold;
  return part;
}

std::optional<Lsn> SnapshotFiles::hold(Millis now) {
  std::erase_if(held_until_, [now](const auto& held) { return held.second <= now; });
  return held_until_.empty() ? std::nullopt : std::optional<Lsn>(held_until_.begin()->first);
}

Millis SnapshotFiles::due() const noexcept {
  Millis first = Millis::max();
  for (const auto& [lsn, until] : held_until_) first = std::min(first, until);
  return first;
}

}  // namespace holdfast
