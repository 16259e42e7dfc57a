#include "tests/shim/undo_names.h"

#include "tests/simulation/disk_names.h"

#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <set>

namespace holdfast::shim {
namespace {

using Names = std::map<std::string, std::uint64_t>;

std::uint64_t inode_of(const std::string& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0 ? status.st_ino : 0;
}

/// Takes one change back from `names`. False when the kill came before the change was made.
bool take_back(Names& names, const JournalRecord& change) {
  const std::string path = change.text(0);
  const std::uint64_t inode = change.header.inode;
  switch (change.header.kind) {
    case JournalKind::create: {
      if (names[path] != inode) break;
      names.erase(path);
      return true;
    }
    case JournalKind::rename: {
      const std::string to = change.text(1);
      if (names[to] != inode) break;
      const std::uint64_t replaced = change.text(2).empty() ? 0 : inode_of(change.text(2));
      names.erase(to);
      if (replaced != 0) names[to] = replaced;
      names[path] = inode;
      return true;
    }
    default: {
      if (names.contains(path)) return false;
      names[path] = inode;
      return true;
    }
  }
  std::erase_if(names, [](const auto& name) { return name.second == 0; });  // what the look-up above left
  return false;
}

void apply(simulation::DiskNames& names, const JournalRecord& change) {
  switch (change.header.kind) {
    case JournalKind::create:
      names.create(change.text(0), change.header.inode);
      break;
    case JournalKind::rename:
      names.rename(change.text(0), change.text(1));
      break;
    default:
      names.remove(change.text(0));
      break;
  }
}

void must(int result, const std::string& what) {
  if (result != 0) give_up(what, std::strerror(errno));
}

/// Makes the names on the disk what they should be. `sources`: for each inode a path where it can be found. All
/// files that get a name are linked under a temporary one first, since a source may be a name that another file
/// takes.
void put(const Names& now, const Names& wanted, const std::map<std::uint64_t, std::string>& sources) {
  std::map<std::string, std::string> temporaries;  // by the path they are for
  for (const auto& [path, inode] : wanted) {
    const auto found = now.find(path);
    if (found != now.end() && found->second == inode) continue;
    const std::string temporary = directory_of(path) + "/.undo-" + std::to_string(temporaries.size());
    must(::link(sources.at(inode).c_str(), temporary.c_str()), "link " + sources.at(inode));
    temporaries[path] = temporary;
  }
  for (const auto& [path, temporary] : temporaries)
    must(::rename(temporary.c_str(), path.c_str()), "rename to " + path);
  for (const auto& [path, inode] : now) {
    if (!wanted.contains(path)) must(::unlink(path.c_str()), "unlink " + path);
  }
}

}  // namespace

std::map<std::string, std::uint64_t> names_below(const std::string& root) {
  Names names;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    if (entry.is_regular_file()) names[entry.path().string()] = inode_of(entry.path().string());
  }
  return names;
}

std::size_t undo_names(const std::string& root, const std::vector<const JournalRecord*>& changes,
                       simulation::CrashChooser& chooser) {
  const Names now = names_below(root);
  std::map<std::uint64_t, std::string> sources;
  for (const JournalRecord* change : changes) {
    const std::string saved = change->text(change->header.kind == JournalKind::rename ? 2 : 1);
    if (change->header.kind != JournalKind::create && !saved.empty()) sources[inode_of(saved)] = saved;
  }
  Names before = now;
  std::vector<const JournalRecord*> made(changes.rbegin(), changes.rend());
  std::erase_if(made, [&before](const JournalRecord* change) { return !take_back(before, *change); });
  std::reverse(made.begin(), made.end());
  simulation::DiskNames names;
  std::set<std::string> directories;
  for (const auto& [path, inode] : before) {
    names.create(path, inode);
    directories.insert(directory_of(path));
  }
  for (const std::string& directory : directories) names.sync(directory);
  for (const JournalRecord* change : made) {
    apply(names, *change);
    directories.insert(directory_of(change->text(0)));
    if (change->header.kind == JournalKind::rename) directories.insert(directory_of(change->text(1)));
  }
  names.crash(chooser);
  Names wanted;
  for (const std::string& directory : directories) {
    for (const std::string& name : names.list(directory)) {
      const std::string path = std::string(directory).append("/").append(name);
      wanted[path] = *names.find(path);
    }
  }
  for (const auto& [path, inode] : now) sources[inode] = path;
  put(now, wanted, sources);
  return made.size();
}

}  // namespace holdfast::shim
