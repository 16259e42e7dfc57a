#include "tests/simulation/disk_names.h"

#include "protocol/check.h"

namespace holdfast::simulation {

std::string parent_directory(const std::string& path) {
  const auto slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::optional<InodeNumber> DiskNames::find(const std::string& path) const {
  const auto found = current_.find(path);
  if (found == current_.end()) return std::nullopt;
  return found->second;
}

void DiskNames::create(const std::string& path, InodeNumber inode) {
  CHECK(!current_.contains(path));
  change({inode, {}, path});
}

void DiskNames::rename(const std::string& from, const std::string& to) {
  const auto inode = find(from);
  CHECK(inode.has_value());
  if (from != to) change({*inode, from, to});
}

void DiskNames::remove(const std::string& path) {
  const auto inode = find(path);
  CHECK(inode.has_value());
  change({*inode, path, {}});
}

std::vector<std::string> DiskNames::list(const std::string& directory) const {
  std::vector<std::string> names;
  for (const auto& [path, inode] : current_) {
    if (parent_directory(path) == directory) names.push_back(path.substr(path.rfind('/') + 1));
  }
  return names;
}

void DiskNames::sync(const std::string& directory) {
  if (pending_.empty()) return;
  std::vector<bool> keep;
  for (const Change& change : pending_) {
    keep.push_back((!change.from.empty() && parent_directory(change.from) == directory) ||
                   (!change.to.empty() && parent_directory(change.to) == directory));
  }
  const std::vector<bool> kept = settle(std::move(keep));
  std::vector<Change> rest;
  for (std::size_t at = 0; at < pending_.size(); ++at) {
    if (!kept[at]) rest.push_back(std::move(pending_[at]));
  }
  pending_ = std::move(rest);
}

void DiskNames::crash(CrashChooser& chooser) {
  std::vector<bool> keep;
  for (std::size_t at = 0; at < pending_.size(); ++at) keep.push_back(chooser.choose(ChoicePoint::entry, 2) == 0);
  settle(std::move(keep));
  pending_.clear();
  current_ = durable_;
}

bool DiskNames::reachable(InodeNumber inode) const {
  const auto is_it = [inode](const auto& entry) { return entry.second == inode; };
  return std::any_of(current_.begin(), current_.end(), is_it) || std::any_of(durable_.begin(), durable_.end(), is_it) ||
         std::any_of(pending_.begin(), pending_.end(), [inode](const Change& change) { return change.inode == inode; });
}

std::uint64_t DiskNames::links(InodeNumber inode) const {
  return static_cast<std::uint64_t>(
      std::count_if(current_.begin(), current_.end(), [inode](const auto& entry) { return entry.second == inode; }));
}

void DiskNames::apply(Names& names, const Change& change) {
  if (!change.from.empty()) {
    const auto found = names.find(change.from);
    if (found != names.end() && found->second == change.inode) names.erase(found);
  }
  if (!change.to.empty()) names[change.to] = change.inode;
}

void DiskNames::change(Change change) {
  apply(current_, change);
  pending_.push_back(std::move(change));
}

std::vector<bool> DiskNames::settle(std::vector<bool> keep) {
  for (std::size_t at = pending_.size(); at-- > 0;) {
    if (!keep[at]) continue;
    for (std::size_t before = 0; before < at; ++before) {
      if (pending_[before].inode == pending_[at].inode) keep[before] = true;
    }
  }
  for (std::size_t at = 0; at < pending_.size(); ++at) {
    if (keep[at]) apply(durable_, pending_[at]);
  }
  return keep;
}

}  // namespace holdfast::simulation
