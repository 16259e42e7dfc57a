#include "server/snapshot_files.h"

#include "server/limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace holdfast {
namespace {

constexpr std::string_view kPrefix = "snapshot-";
constexpr std::size_t kNumberDigits = 20;
/// The secret in a snapshot's header, where a segment's header has it too.
constexpr std::uint64_t kSecretOffset = 184;
constexpr std::uint64_t kSecretBytes = 16;

std::string name_of(Lsn lsn) { return fmt::format("{}{:0{}}", kPrefix, lsn.value(), kNumberDigits); }

/// None for a name that is no snapshot's.
Lsn lsn_of(std::string_view name) noexcept {
  if (!name.starts_with(kPrefix) || name.size() != kPrefix.size() + kNumberDigits) return {};
  name.remove_prefix(kPrefix.size());
  std::uint64_t number = 0;
  const auto parsed = std::from_chars(name.data(), name.data() + name.size(), number);
  return parsed.ec == std::errc() && parsed.ptr == name.data() + name.size() ? Lsn(number) : Lsn();
}

/// `bytes` stand at `offset` of the file.
void hide_secret(std::string& bytes, std::uint64_t offset) {
  const std::uint64_t begin = std::max(offset, kSecretOffset);
  const std::uint64_t end = std::min(offset + bytes.size(), kSecretOffset + kSecretBytes);
  if (begin < end) bytes.replace(begin - offset, end - begin, end - begin, '\0');
}

}  // namespace

Result<Lsn> SnapshotFiles::choose(std::optional<Lsn> lsn) const {
  const auto names = files_.list(directory_);
  if (!names) return names.error();
  Lsn newest;
  bool there = false;
  for (const std::string& name : *names) {
    const Lsn found = lsn_of(name);
    newest = std::max(newest, found);
    there = there || (lsn && found == *lsn);
  }
  if (newest == Lsn()) return Error(ErrorCode::log_gone, "there is no snapshot yet");
  if (!lsn) return newest;
  if (there) return *lsn;
  return Error::format(ErrorCode::log_gone, "there is no snapshot {}: the newest is {}", lsn->value(), newest.value());
}

Result<SnapshotFiles::Part> SnapshotFiles::read(std::optional<Lsn> lsn, std::uint64_t offset, std::size_t bytes_max,
                                                Millis now) {
  const auto chosen = choose(lsn);
  if (!chosen) return chosen.error();
  auto file = files_.open(fmt::format("{}/{}", directory_, name_of(*chosen)), OpenMode::read);
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
